// SPDX-License-Identifier: Apache-2.0
#include "ops/update/update_all.h"

#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "ops/numbers/cast.h"
#include "ops/numbers/sum.h"
#include "ops/update/adamw.h"
#include "ops/update/masked_decay.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "support/sparse_data.h"
#include "support/tables.h"

namespace twill {
namespace {

class UpdateAll : public TableTest {
 protected:
  void SetUp() override {
    TableTest::SetUp();
    if (GetParam().table->adamw_all == nullptr) GTEST_SKIP() << "not on this backend";
  }
};

constexpr std::int64_t kSizes[] = {1, 3, 64, 1000, 16384, 40001};

struct Tensors {
  Values weight, grad, m, v;
  Values mask = {};  // or none
};

std::vector<Tensors> random_tensors(Random& random) {
  std::vector<Tensors> tensors;
  for (const std::int64_t size : kSizes) {
    Values v = random.normal(size);  // far from zero: updates stay below 2 lr
    for (double& value : v) value = 0.25 + std::abs(value);
    tensors.push_back({.weight = random.normal(size),
                       .grad = random.normal(size),
                       .m = random.normal(size, 0.1),
                       .v = v});
  }
  return tensors;
}

// Tensors with masks and one without among them.
std::vector<Tensors> masked_tensors(Random& random) {
  std::vector<Tensors> tensors = random_tensors(random);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (i != 3) tensors[i].mask = random_mask(random, kSizes[i]);
  return tensors;
}

struct Updated {
  Values weights, grads, ms, vs, operands;
  double norm2 = 0.0;
};

void append(Values& to, const Values& values) { to.insert(to.end(), values.begin(), values.end()); }

constexpr double kLearningRate = 1e-2;
constexpr std::int64_t kStep = 3;
constexpr std::uint64_t kSeed = 0x1234'5678'9abc'def0u;
double lr_scale_of(std::size_t i) { return i % 2 == 0 ? 1.0 : 0.5; }
double weight_decay_of(std::size_t i) { return i % 3 == 0 ? 0.1 : 0.0; }
double decay_of(std::size_t i) { return 0.3 + 0.1 * static_cast<double>(i); }
// Behind a multiple of four for every other tensor, also where the tensor itself is aligned.
int mask_offset_of(std::size_t i) { return i % 2 == 0 ? 1 : 0; }

struct Kind {
  bool bf16_moments = false;
  bool freeze_v = false;
  bool pulls_weight = false;
};

Updated run(const Setup& setup, const std::vector<Tensors>& data, double clip, double loss,
            Kind kind = {}) {
  const auto opened = setup.context();
  std::deque<Buffer> buffers, masks;
  std::vector<UpdateTensor> tensors;
  const DType wide = wide_type(setup.dtype), moments = kind.bf16_moments ? DType::kBf16 : wide;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Shape shape{kSizes[i]};
    const auto put = [&](const Values& values, DType type) -> View {
      return buffers.emplace_back(values, type, setup.offset, opened).view(shape);
    };
    const auto put_mask = [&](const Values& values) -> ConstView {
      if (values.empty()) return {};
      const int offset = setup.offset + mask_offset_of(i);
      return masks.emplace_back(values, DType::kU8, offset, opened).view(shape);
    };
    tensors.push_back({.weight = put(data[i].weight, wide),
                       .grad = put(data[i].grad, wide),
                       .m = put(data[i].m, moments),
                       .v = put(data[i].v, moments),
                       .operand = put(Values(data[i].weight.size()), DType::kBf16),
                       .lr_scale = lr_scale_of(i),
                       .weight_decay = weight_decay_of(i),
                       .mask = put_mask(data[i].mask),
                       .decay = decay_of(i),
                       .pulls_weight = kind.pulls_weight});
  }
  const auto count = static_cast<std::int64_t>(tensors.size());
  const Buffer table(Values(static_cast<std::size_t>(update_table_bytes(count))), DType::kU8, 0,
                     opened);
  const Buffer norm2({-1}, DType::kF64, 0, opened);
  const Buffer partials(Values(kNormPartials), DType::kF64, 0, opened);
  Values settings(kUpdateScalars, std::nan(""));  // what nobody should read
  settings[kLr] = kLearningRate;
  settings[kCorrection1] = 1 - std::pow(0.9, kStep);
  settings[kCorrection2] = 1 - std::pow(0.95, kStep);
  settings[kUpdate] = kStep;
  settings[kLoss] = loss;
  const Buffer scalars(settings, DType::kF64, 0, opened);
  const View table_view = table.view({update_table_bytes(count)});
  prepare_update(*opened, {.tensors = tensors, .table = table_view});
  norm_all(*opened, {.tensors = tensors,
                     .table = table_view,
                     .norm2 = norm2.view({1}),
                     .partials = partials.view({kNormPartials})});
  adamw_all(*opened, {.tensors = tensors,
                      .table = table_view,
                      .norm2 = norm2.view({1}),
                      .scalars = scalars.view({kUpdateScalars}),
                      .clip = clip,
                      .freeze_v = kind.freeze_v,
                      .seed = kSeed});
  Updated updated;
  updated.norm2 = norm2.values()[0];
  for (std::size_t i = 0; i < buffers.size(); i += 5) {
    append(updated.weights, buffers[i].values());
    append(updated.grads, buffers[i + 1].values());
    append(updated.ms, buffers[i + 2].values());
    append(updated.vs, buffers[i + 3].values());
    append(updated.operands, buffers[i + 4].values());
  }
  return updated;
}

double grad_scale_of(double norm2, double clip) {
  const double norm = std::sqrt(norm2);
  return clip > 0.0 && norm > clip ? clip / norm : 1.0;
}

// The same with masked_decay, where there is a mask, and adamw, tensor by tensor.
Updated run_apart(const Setup& setup, const std::vector<Tensors>& data, double grad_scale,
                  Kind kind) {
  const DType moments = kind.bf16_moments ? DType::kBf16 : wide_type(setup.dtype);
  Updated updated;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Shape shape{kSizes[i]};
    const Buffer weight = setup.wide(data[i].weight), grad = setup.wide(data[i].grad);
    const Buffer m = setup.buffer(data[i].m, moments), v = setup.buffer(data[i].v, moments);
    const Buffer mask = setup.buffer(data[i].mask, DType::kU8);
    const bool masked = !data[i].mask.empty(), pulls = kind.pulls_weight;
    const double lr = kLearningRate * lr_scale_of(i);
    if (masked)
      masked_decay(*setup.context(), {.target = (pulls ? weight : grad).view(shape),
                                      .weight = weight.view(shape),
                                      .mask = mask.view(shape),
                                      .scale = pulls ? 1.0 : grad_scale,
                                      .rate = pulls ? -lr * decay_of(i) : decay_of(i)});
    adamw(*setup.context(), {.weight = weight.view(shape),
                             .grad = grad.view(shape),
                             .m = m.view(shape),
                             .v = v.view(shape),
                             .lr = lr,
                             .weight_decay = weight_decay_of(i),
                             .grad_scale = masked && !pulls ? 1.0 : grad_scale,
                             .step = kStep,
                             .freeze_v = kind.freeze_v,
                             .seed = kSeed,
                             .stream = i});
    append(updated.weights, weight.values());
    append(updated.ms, m.values());
    append(updated.vs, v.values());
  }
  return updated;
}

constexpr double kClips[] = {0.0, 1.0, 1e6};

TEST_P(UpdateAll, MatchesTheReference) {
  Random random;
  const std::vector<Tensors> data = random_tensors(random);
  Tensors all;
  for (const Tensors& tensors : data) append(all.m, tensors.m), append(all.grad, tensors.grad);
  for (const double clip : kClips) {
    const Updated got = run(GetParam(), data, clip, 2.5), want = run(oracle(), data, clip, 2.5);
    ASSERT_EQ(got.weights.size(), want.weights.size());
    const auto count = static_cast<double>(want.weights.size());
    EXPECT_NEAR(got.norm2, want.norm2, 2 * count * kEpsF64 * want.norm2);
    for (std::size_t i = 0; i < want.weights.size(); ++i) {
      // Sixteen roundings of an update of at most 10 lr, and two of the weight.
      ASSERT_NEAR(got.weights[i], want.weights[i],
                  16 * kEpsF32 * 10 * kLearningRate + 2 * kEpsF32 * std::abs(want.weights[i]))
          << i;
      // Six roundings at most of the two terms: of the coefficients, the products and the sum.
      ASSERT_NEAR(got.ms[i], want.ms[i], 6 * kEpsF32 * (std::abs(all.m[i]) + std::abs(all.grad[i])))
          << i;
      ASSERT_NEAR(got.vs[i], want.vs[i], 8 * kEpsF32 * want.vs[i]) << i;
      ASSERT_EQ(got.operands[i], to_float(to_bf16(static_cast<float>(got.weights[i])))) << i;
    }
  }
}

void expect_bits_of_apart(const Setup& setup, const std::vector<Tensors>& data, Kind kind = {}) {
  for (const bool bf16_moments : {false, true}) {
    kind.bf16_moments = bf16_moments;
    for (const double clip : kClips) {
      SCOPED_TRACE(fmt::format("{} moments, clip {}", bf16_moments ? "bf16" : "f32", clip));
      const Updated got = run(setup, data, clip, 2.5, kind);
      const double grad_scale = grad_scale_of(got.norm2, clip);
      const Updated want = run_apart(setup, data, grad_scale, kind);
      EXPECT_TRUE(expect_same_bits("weight", got.weights, want.weights));
      EXPECT_TRUE(expect_same_bits("m", got.ms, want.ms));
      EXPECT_TRUE(expect_same_bits("v", got.vs, want.vs));
    }
  }
}

TEST_P(UpdateAll, HasTheBitsOfAdamwTensorByTensor) {
  Random random;
  expect_bits_of_apart(GetParam(), random_tensors(random));
}

TEST_P(UpdateAll, HasTheBitsOfMaskedDecayAndAdamwTensorByTensor) {
  Random random;
  expect_bits_of_apart(GetParam(), masked_tensors(random));
}

TEST_P(UpdateAll, FreezesSecondMomentsAsAdamw) {
  Random random;
  const std::vector<Tensors> data = masked_tensors(random);
  expect_bits_of_apart(GetParam(), data, {.freeze_v = true});
  Values vs;
  for (const Tensors& tensors : data)
    for (const double v : tensors.v) vs.push_back(static_cast<float>(v));
  EXPECT_TRUE(expect_same_bits("v", run(GetParam(), data, 1.0, 2.5, {.freeze_v = true}).vs, vs));
}

TEST_P(UpdateAll, PullsWeightsAsMaskedDecay) {
  Random random;
  const std::vector<Tensors> data = masked_tensors(random);
  expect_bits_of_apart(GetParam(), data, {.pulls_weight = true});
  expect_bits_of_apart(GetParam(), data, {.freeze_v = true, .pulls_weight = true});
}

TEST_P(UpdateAll, MaskedDecayLeavesGradientsAndTheirNormAlone) {
  Random random;
  std::vector<Tensors> data = masked_tensors(random);
  Values grads;
  for (const Tensors& tensors : data) append(grads, tensors.grad);
  const Updated masked = run(GetParam(), data, 1.0, 2.5);
  for (Tensors& tensors : data) tensors.mask.clear();
  const Updated plain = run(GetParam(), data, 1.0, 2.5);
  EXPECT_TRUE(expect_same_bits("grad", masked.grads, grads));
  EXPECT_EQ(masked.norm2, plain.norm2);
  EXPECT_NE(masked.weights, plain.weights);
}

TEST_P(UpdateAll, ChangesNothingWhenNotFinite) {
  Random random;
  std::vector<Tensors> data = masked_tensors(random);
  Values before;
  for (const Tensors& tensors : data)
    before.insert(before.end(), tensors.weight.begin(), tensors.weight.end());
  EXPECT_EQ(run(GetParam(), data, 1.0, std::nan("")).weights, before);
  data[3].grad[17] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(GetParam(), data, 1.0, 2.5).weights, before);
}

TEST_P(UpdateAll, RepeatsItsBits) {
  Random random;
  const std::vector<Tensors> data = random_tensors(random);
  const Updated one = run(GetParam(), data, 1.0, 2.5), two = run(GetParam(), data, 1.0, 2.5);
  EXPECT_EQ(one.norm2, two.norm2);
  EXPECT_EQ(one.weights, two.weights);
}

TEST_P(UpdateAll, NothingAtAllHasNormZero) {
  const auto& setup = GetParam();
  const Buffer norm2 = setup.buffer({-1.0}, DType::kF64);
  const Buffer partials = setup.buffer(Values(kNormPartials), DType::kF64);
  norm_all(*setup.context(), {.tensors = {},
                              .table = {},
                              .norm2 = norm2.view({1}),
                              .partials = partials.view({kNormPartials})});
  EXPECT_EQ(norm2.values()[0], 0.0);
}

INSTANTIATE_TEST_SUITE_P(Tables, UpdateAll, testing::ValuesIn(setups_with_device()), setup_name);

TEST(UpdateAllErrors, NameTheProblem) {
  const Buffer x(Values(6), DType::kF32), bytes(Values(6), DType::kU8);
  const Buffer table(Values(static_cast<std::size_t>(update_table_bytes(1))), DType::kU8);
  const auto prepare = [&](ConstView mask, double decay) {
    const UpdateTensor tensor{.weight = x.view({2, 3}),
                              .grad = x.view({2, 3}),
                              .m = x.view({2, 3}),
                              .v = x.view({2, 3}),
                              .mask = mask,
                              .decay = decay};
    prepare_update(Context(reference_table(), 1),
                   {.tensors = {&tensor, 1}, .table = table.view({update_table_bytes(1)})});
  };
  EXPECT_NO_THROW(prepare({}, 0.0));
  EXPECT_NO_THROW(prepare(bytes.view({2, 3}), 0.5));
  expect_error([&] { prepare(bytes.view({6}), 0.5); },
               "[update_all] mask must have shape (2, 3), got (6)");
  expect_error([&] { prepare(x.view({2, 3}), 0.5); }, "[update_all] mask must be u8, got f32");
  expect_error(
      [&] {
        prepare(bytes.view({2, 3}), std::nan(""));
      },
      "[update_all] decay must be finite, got nan");
}

class Casts : public TableTest {};

TEST_P(Casts, RoundToNearestEven) {
  if (GetParam().table->cast == nullptr) GTEST_SKIP() << "not on this backend";
  const auto& setup = GetParam();
  Random random;
  drawn_type() = DType::kF32;
  Values x = random.normal(1027);
  for (const double value :
       {0.0, -0.0, 1.00390625, 1.01171875, 3.4e38, 1e-45, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::nan("")})
    x.push_back(value);
  const auto count = static_cast<std::int64_t>(x.size());
  const Buffer in = setup.wide(x), out = setup.buffer(rubbish(count), DType::kBf16);
  cast(*setup.context(), {.x = in.view({count}), .y = out.view({count})});
  Values want;
  for (const double value : x) want.push_back(to_float(to_bf16(static_cast<float>(value))));
  EXPECT_TRUE(expect_same_bits("y", out.values(), want));
}

TEST_P(Casts, SumsInDouble) {
  const auto& setup = GetParam();
  Random random;
  for (const std::int64_t count : {0, 1, 33, 1024, 70001}) {
    const Values x = random.normal(count);
    const Buffer in = setup.wide(x), total = setup.buffer({5.0}, DType::kF64);
    const SumArgs args{.x = in.view({count}), .sum = total.view({1}), .scale = 0.5};
    SumArgs more = args;
    more.accumulate = true;
    sum(*setup.context(), args);
    double want = 0.0, size = 0.0;
    for (const double value : x) want += 0.5 * value, size += std::abs(value);
    EXPECT_NEAR(total.values()[0], want, (static_cast<double>(count) + 2) * kEpsF64 * size);
    sum(*setup.context(), more);
    EXPECT_NEAR(total.values()[0], 2 * want, (static_cast<double>(count) + 3) * kEpsF64 * 2 * size);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Casts, testing::ValuesIn(setups_with_device()), setup_name);

}  // namespace
}  // namespace twill
