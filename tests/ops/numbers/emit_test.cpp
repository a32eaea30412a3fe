// SPDX-License-Identifier: Apache-2.0
// Further copies of what an op makes: exactly what is stored, in another type, layout and scale.
#include "ops/numbers/emit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bf16.h"
#include "base/fp8.h"
#include "base/rng.h"
#include "ops/layers/activation.h"
#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/update/adamw.h"
#include "support/expect_error.h"
#include "tensor/tensor.h"

namespace twill::emit_test {
namespace {

// More than a block of a transposition, and no multiple of one.
constexpr std::int64_t kRows = 70, kCols = 67;

Tensor numbers(std::uint64_t seed, Shape shape = {kRows, kCols}) {
  Tensor tensor(DType::kF32, shape);
  for (std::int64_t i = 0; i < tensor.view().num_elements(); ++i)
    tensor.view().as<float>()[i] =
        4.0f * unit_float(random_bits(seed, Purpose::kTest, 0, static_cast<std::uint64_t>(i))[0]) -
        2.0f;
  return tensor;
}

// A transposed bf16 copy with the largest magnitude, and scaled ones of 8 and 32 bits.
struct Copies {
  Copies() { *scale.view().as<float>() = 0.25f; }

  Tensor turned = Tensor(DType::kBf16, {kCols, kRows});
  Tensor small = Tensor(DType::kE4m3, {kRows, kCols});
  Tensor wide = Tensor(DType::kF32, {kCols, kRows});
  Tensor amax = Tensor(DType::kF32, {1});
  Tensor scale = Tensor(DType::kF32, {1});
  Emit emits[3] = {{.to = turned.view(), .transposed = true, .amax = amax.view()},
                   {.to = small.view(), .scale = {.at = scale.view()}},
                   {.to = wide.view(), .transposed = true, .scale = {.value = 2.0}}};

  void expect_copies_of(ConstView x, const char* what) {
    float most = 0.0f;
    for (std::int64_t i = 0; i < kRows; ++i)
      for (std::int64_t j = 0; j < kCols; ++j) {
        const float value = x.as<float>()[i * kCols + j];
        most = std::max(most, std::fabs(value));
        ASSERT_EQ(turned.view().as<Bf16>()[j * kRows + i].bits, to_bf16(value).bits) << what;
        ASSERT_EQ(small.view().as<Fp8E4m3>()[i * kCols + j], to_fp8<Fp8E4m3>(value / 0.25f))
            << what;
        ASSERT_EQ(wide.view().as<float>()[j * kRows + i], value / 2.0f) << what;
      }
    EXPECT_EQ(*amax.view().as<float>(), most) << what;
  }
};

class EmitOn : public testing::TestWithParam<const KernelTable*> {
 protected:
  Context context_{*GetParam(), 2};
  Copies copies_;
};

TEST_P(EmitOn, Norms) {
  const Tensor x = numbers(1), weight = numbers(2, {kCols});
  Tensor y(DType::kF32, {kRows, kCols}), mean(DType::kF32, {kRows}), rstd(DType::kF32, {kRows});
  layer_norm_forward(context_, {.x = x.view(),
                                .weight = weight.view(),
                                .y = y.view(),
                                .mean = mean.view(),
                                .rstd = rstd.view(),
                                .emits = copies_.emits});
  copies_.expect_copies_of(y.view(), "layer_norm");
  rms_norm_forward(context_, {.x = x.view(),
                              .weight = weight.view(),
                              .y = y.view(),
                              .rstd = rstd.view(),
                              .emits = copies_.emits});
  copies_.expect_copies_of(y.view(), "rms_norm");
}

TEST_P(EmitOn, Activations) {
  const Tensor x = numbers(1), dy = numbers(2);
  Tensor y(DType::kF32, {kRows, kCols}), dx(DType::kF32, {kRows, kCols});
  activation_forward(context_, {.x = x.view(), .y = y.view(), .emits = copies_.emits});
  copies_.expect_copies_of(y.view(), "activation");
  activation_backward(context_,
                      {.x = x.view(), .dy = dy.view(), .dx = dx.view(), .emits = copies_.emits});
  copies_.expect_copies_of(dx.view(), "its gradient");
}

TEST_P(EmitOn, Adamw) {
  Tensor weight = numbers(1), m = numbers(3), v(DType::kF32, {kRows, kCols});
  const Tensor grad = numbers(2);
  std::fill_n(v.view().as<float>(), kRows * kCols, 0.5f);
  adamw(context_, {.weight = weight.view(),
                   .grad = grad.view(),
                   .m = m.view(),
                   .v = v.view(),
                   .lr = 0.1,
                   .emits = copies_.emits});
  copies_.expect_copies_of(weight.view(), "adamw");
}

TEST_P(EmitOn, AmaxKeepsANaN) {
  Tensor x = numbers(1);
  x.view().as<float>()[1234] = std::numeric_limits<float>::quiet_NaN();
  Tensor y(DType::kF32, {kRows, kCols}), amax(DType::kF32, {1});
  const Emit emits[] = {{.amax = amax.view()}};
  activation_forward(context_,
                     {.kind = Activation::kRelu2, .x = x.view(), .y = y.view(), .emits = emits});
  EXPECT_TRUE(std::isnan(*amax.view().as<float>()));
}

INSTANTIATE_TEST_SUITE_P(Tables, EmitOn, testing::Values(&reference_table(), &cpu_table()),
                         [](const auto& table) { return std::string(table.param->name); });

TEST(Emit, IsDeclinedWithASentence) {
  KernelTable table = cpu_table();
  table.emit = nullptr;
  const Context without(table, 1), with(cpu_table(), 1);
  const Tensor x = numbers(1);
  Tensor y(DType::kF32, {kRows, kCols}), wrong(DType::kBf16, {kRows, kCols});
  const Emit emits[] = {{.to = wrong.view(), .transposed = true}}, nothing[] = {{}};
  const auto run = [&](const Context& context, std::span<const Emit> copies) {
    activation_forward(context, {.x = x.view(), .y = y.view(), .emits = copies});
  };
  expect_error(
      [&] { run(without, emits); },
      "[activation] the cpu backend makes no further copies of a result: leave emits empty");
  expect_error([&] { run(with, emits); }, "[activation] copy must");
  expect_error([&] { run(with, nothing); }, "[activation] a copy has neither a place nor an amax");
}

}  // namespace
}  // namespace twill::emit_test
