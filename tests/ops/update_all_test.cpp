// SPDX-License-Identifier: Apache-2.0
#include "ops/update_all.h"

#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "ops/adamw.h"
#include "ops/cast.h"
#include "ops/sum.h"
#include "support/judge.h"
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
};

std::vector<Tensors> random_tensors(Random& random) {
  std::vector<Tensors> tensors;
  for (const std::int64_t size : kSizes) {
    Values v = random.normal(size);  // far from zero: updates stay below 2 lr
    for (double& value : v) value = 0.25 + std::abs(value);
    tensors.push_back({random.normal(size), random.normal(size), random.normal(size, 0.1), v});
  }
  return tensors;
}

struct Updated {
  Values weights, operands;
  double norm2 = 0.0;
};

Updated run(const Setup& setup, const std::vector<Tensors>& data, double clip, double loss) {
  const auto opened = setup.context();
  std::deque<Buffer> buffers;
  std::vector<UpdateTensor> tensors;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Shape shape{kSizes[i]};
    const auto put = [&](const Values& values, DType type) -> View {
      return buffers.emplace_back(values, type, setup.offset, opened).view(shape);
    };
    tensors.push_back({.weight = put(data[i].weight, DType::kF32),
                       .grad = put(data[i].grad, DType::kF32),
                       .m = put(data[i].m, DType::kF32),
                       .v = put(data[i].v, DType::kF32),
                       .operand = put(Values(data[i].weight.size()), DType::kBf16),
                       .lr_scale = i % 2 == 0 ? 1.0 : 0.5,
                       .weight_decay = i % 3 == 0 ? 0.1 : 0.0});
  }
  const auto count = static_cast<std::int64_t>(tensors.size());
  const Buffer table(Values(static_cast<std::size_t>(update_table_bytes(count))), DType::kU8, 0,
                     opened);
  const Buffer norm2({-1}, DType::kF64, 0, opened);
  const Buffer partials(Values(kNormPartials), DType::kF64, 0, opened);
  const Buffer scalars({1e-2, 1 - std::pow(0.9, 3), 1 - std::pow(0.95, 3), loss, 0.0}, DType::kF64,
                       0, opened);
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
                      .clip = clip});
  Updated updated;
  updated.norm2 = norm2.values()[0];
  for (std::size_t i = 0; i < buffers.size(); i += 5) {
    for (const double value : buffers[i].values()) updated.weights.push_back(value);
    for (const double value : buffers[i + 4].values()) updated.operands.push_back(value);
  }
  return updated;
}

// The reference, tensor by tensor.
Values expected_weights(const std::vector<Tensors>& data, double grad_scale) {
  const Setup on = oracle();
  Values weights;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Shape shape{kSizes[i]};
    const Buffer weight = on.buffer(data[i].weight), grad = on.buffer(data[i].grad);
    const Buffer m = on.buffer(data[i].m), v = on.buffer(data[i].v);
    adamw(*on.context(), {.weight = weight.view(shape),
                          .grad = grad.view(shape),
                          .m = m.view(shape),
                          .v = v.view(shape),
                          .lr = 1e-2 * (i % 2 == 0 ? 1.0 : 0.5),
                          .weight_decay = i % 3 == 0 ? 0.1 : 0.0,
                          .grad_scale = grad_scale,
                          .step = 3});
    for (const double value : weight.values()) weights.push_back(value);
  }
  return weights;
}

double norm2_of(const std::vector<Tensors>& data) {
  double sum = 0.0;
  for (const Tensors& tensors : data)
    for (const double g : tensors.grad) sum += g * g;
  return sum;
}

TEST_P(UpdateAll, MatchesTheReferenceTensorByTensor) {
  Random random;
  const std::vector<Tensors> data = random_tensors(random);
  const double norm2 = norm2_of(data);
  for (const double clip : {0.0, 1.0, 1e6}) {
    const Updated got = run(GetParam(), data, clip, 2.5);
    EXPECT_NEAR(got.norm2, norm2, 1e-12 * norm2);
    const double norm = std::sqrt(norm2);
    const Values want = expected_weights(data, clip > 0.0 && norm > clip ? clip / norm : 1.0);
    ASSERT_EQ(got.weights.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      // Sixteen roundings of an update of at most 10 lr, and two of the weight.
      ASSERT_NEAR(got.weights[i], want[i], 16 * kEpsF32 * 0.1 + 2 * kEpsF32 * std::abs(want[i]))
          << i;
      ASSERT_EQ(got.operands[i], to_float(to_bf16(static_cast<float>(got.weights[i])))) << i;
    }
  }
}

TEST_P(UpdateAll, ChangesNothingWhenNotFinite) {
  Random random;
  std::vector<Tensors> data = random_tensors(random);
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

INSTANTIATE_TEST_SUITE_P(Tables, UpdateAll, testing::ValuesIn(setups_with_device()), setup_name);

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
