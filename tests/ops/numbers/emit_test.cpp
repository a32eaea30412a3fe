// SPDX-License-Identifier: Apache-2.0
// Further copies of what an op makes: exactly what is stored, in another type, layout and scale.
#include "ops/numbers/emit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bf16.h"
#include "base/fp8.h"
#include "base/rng.h"
#include "ops/layers/activation.h"
#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/transfer.h"
#include "ops/update/adamw.h"
#include "support/expect_error.h"
#include "support/tables.h"
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
                   {.to = wide.view(), .transposed = true, .scale = {.value = 2.0f}}};

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

// Every combination of type, layout and scale, of numbers that are awkward for some of them.
class EmitBits : public TableTest {
 protected:
  static Values awkward(std::int64_t count) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const Values special{0.0,   -0.0,  inf,     -inf,    nan,     -nan,    448.0,  464.0,  -465.0,
                         0.001, 1e-45, 57344.0, 61440.0, 61441.0, -1e-20f, 1.0625, 1.1875, 3e38};
    Values values = special;
    for (std::int64_t i = 0; std::ssize(values) < count; ++i) {
      const Philox4 bits = random_bits(7, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
      values.push_back(double{8.0f * unit_float(bits[0]) - 4.0f});
    }
    values.resize(static_cast<std::size_t>(count));
    return values;
  }

  // The bytes of the copy, and those of its amax behind them.
  static std::vector<std::uint8_t> run(const twill::Setup& setup, Shape shape, DType type,
                                       bool transposed, const Scale& scale) {
    const std::shared_ptr<const Context> context = setup.context();
    const Buffer x = setup.buffer(awkward(shape.num_elements()));
    const std::int64_t bytes = shape.num_elements() * size_of(type);
    const std::int64_t behind = (bytes + 3) / 4 * 4;
    Tensor copy(DType::kU8, {behind + 4}, context->memory());
    const Shape of_copy = transposed ? Shape{shape[1], shape[0]} : shape;
    const Emit emits[] = {{.to = View(copy.view().bytes(), type, of_copy),
                           .transposed = transposed,
                           .scale = scale,
                           .amax = View(copy.view().bytes() + behind, DType::kF32, {1})}};
    context->kernels().emit({.x = x.view(shape), .emits = emits}, context->device(),
                            context->queue());
    return host_values<std::uint8_t>(*context, copy.view());
  }
};

TEST_P(EmitBits, AreThoseOfTheReference) {
  twill::Setup judge = exact_oracle();
  judge.dtype = GetParam().dtype;
  for (const Shape shape : {Shape{70, 67}, Shape{64, 128}, Shape{1, 5}, Shape{130, 4}})
    for (const DType type : {DType::kF32, DType::kBf16, DType::kE4m3, DType::kE5m2})
      for (const bool transposed : {false, true})
        for (const float scale : {1.0f, 0.25f, 0.1f, 3.0f})
          ASSERT_EQ(run(GetParam(), shape, type, transposed, {.value = scale}),
                    run(judge, shape, type, transposed, {.value = scale}))
              << to_string(shape) << ' ' << name_of(type) << ' ' << transposed << ' ' << scale;
}

INSTANTIATE_TEST_SUITE_P(Tables, EmitBits, testing::ValuesIn(setups_with_device()), setup_name);

TEST(Emit, LeavesOutWhatTheKernelHasWritten) {
  KernelTable table = cpu_table();
  table.emits_inside = [](std::string_view op, const ConstView&, std::span<const Emit> emits) {
    return op == "activation" && !emits.front().transposed;
  };
  const Context context(table, 1);
  const Tensor x = numbers(1);
  Tensor y(DType::kF32, {kRows, kCols}), copy(DType::kF32, {kRows, kCols});
  Tensor turned(DType::kF32, {kCols, kRows});
  const Emit inside[] = {{.to = copy.view()}};
  const Emit behind[] = {{.to = turned.view(), .transposed = true}};
  for (const auto& emits : {std::span<const Emit>(inside), std::span<const Emit>(behind)})
    activation_forward(context, {.x = x.view(), .y = y.view(), .emits = emits});
  EXPECT_EQ(copy.view().as<float>()[kCols + 1], 0.0f);  // this table only says that it has
  EXPECT_EQ(turned.view().as<float>()[kRows + 1], y.view().as<float>()[kCols + 1]);
}

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
