// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/targets.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ops/layers/cross_entropy.h"
#include "ops/transfer.h"
#include "support/tables.h"
#include "tensor/tensor.h"

namespace twill {
namespace {

// On every backend that this machine has.
class Targets : public TableTest {
 protected:
  Tensor on_device(const std::vector<std::int32_t>& ids) const {
    Tensor tensor(DType::kI32, {static_cast<std::int64_t>(ids.size())}, context_.memory());
    if (!ids.empty()) copy_in(context_, tensor.view(), ids.data());
    return tensor;
  }
  Tensor number(double value) const {
    Tensor tensor(DType::kF64, {1}, context_.memory());
    copy_in(context_, tensor.view(), &value);
    return tensor;
  }
  double value_of(const Tensor& tensor) const {
    return host_values<double>(context_, tensor.view())[0];
  }

  const std::shared_ptr<const Context> holder_ = GetParam().context();
  const Context& context_ = *holder_;
};

TEST_P(Targets, AreCountedWhereTheyAreNotNegative) {
  // Less and more than a block of threads, and none at all.
  for (const std::int32_t size : {0, 1, 7, 1023, 1024, 1025, 5000}) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(size), 3);
    double expected = size;
    for (std::size_t i = 0; i < ids.size(); i += 3) ids[i] = -1, expected -= 1.0;
    const Tensor targets = on_device(ids);
    Tensor count = number(-5.0);
    count_targets(context_, {.targets = targets.view(), .count = count.view()});
    EXPECT_EQ(value_of(count), expected) << size << " targets";
  }
}

TEST_P(Targets, MeansAddUp) {
  const Tensor sum = number(6.0), count = number(4.0), none = number(0.0);
  Tensor mean = number(100.0);
  add_mean(context_, {.sum = sum.view(), .count = count.view(), .mean = mean.view()});
  EXPECT_EQ(value_of(mean), 1.5);
  add_mean(context_,
           {.sum = sum.view(), .count = count.view(), .mean = mean.view(), .accumulate = true});
  EXPECT_EQ(value_of(mean), 3.0);
  add_mean(context_,
           {.sum = sum.view(), .count = none.view(), .mean = mean.view(), .accumulate = true});
  EXPECT_EQ(value_of(mean), 3.0);
}

// The gradient of a mean is that of a sum with the scale divided by the count, to the bit.
TEST_P(Targets, DivideTheGradientOfTheLoss) {
  const std::vector<float> logits{0.5f, -1.0f, 2.0f, 0.25f, 1.0f, -0.75f};
  const Tensor targets = on_device({2, -1});
  const auto gradient = [&](double scale, ConstView count) {
    Tensor x(DType::kF32, {2, 3}, context_.memory()), loss(DType::kF32, {2}, context_.memory());
    Tensor dx(DType::kF32, {2, 3}, context_.memory());
    copy_in(context_, x.view(), logits.data());
    cross_entropy(context_, {.logits = x.view(),
                             .targets = targets.view(),
                             .loss = loss.view(),
                             .dlogits = dx.view(),
                             .scale = scale,
                             .count = count});
    return host_values<float>(context_, dx.view());
  };
  const Tensor three = number(3.0), none = number(0.0);
  EXPECT_EQ(gradient(0.7, three.view()), gradient(0.7 / 3.0, {}));
  EXPECT_NE(gradient(0.7, three.view()), gradient(0.7, {}));
  EXPECT_EQ(gradient(0.7, none.view()), gradient(0.0, {}));
}

INSTANTIATE_TEST_SUITE_P(Tables, Targets, testing::ValuesIn(setups_with_device()), setup_name);

}  // namespace
}  // namespace twill
