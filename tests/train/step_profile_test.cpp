// SPDX-License-Identifier: Apache-2.0
#include "train/step/step_profile.h"

#include <gtest/gtest.h>

#include "train/tiny_run.h"

namespace twill {
namespace {

// tiny_settings(): 2 layers, width 16, 2 heads, 16 tokens of context, 4 windows.
constexpr double kTokens = 4.0 * 16.0;

struct ProfiledStep {
  explicit ProfiledStep(const std::vector<std::string>& more = {}) : tiny(more) {
    tiny.trainer.step();
    const double counted = tiny.trainer.sparsity().flops().dense;
    StepProfile profile(tiny.context);
    tiny.context.observer = &profile;
    tiny.trainer.step();
    tiny.context.observer = nullptr;
    ops = profile.ops();
    again = profile.ops();
    products = profile.measure_products(tiny.context, 2, true);
    model_flops = tiny.trainer.sparsity().flops().dense - counted;
  }

  double product_flops() const {
    double sum = 0.0;
    for (const ProductTime& product : products)
      sum += static_cast<double>(product.count) * product.flops();
    return sum;
  }

  TinyTrainer tiny;
  StepProfile::Ops ops, again;
  std::vector<ProductTime> products;
  double model_flops = 0.0;
};

void expect_times(const ProfiledStep& step) {
  for (const auto& [name, time] : step.ops) {
    EXPECT_GT(time.calls, 0) << name;
    EXPECT_GT(time.seconds, 0.0) << name;
    EXPECT_GT(time.bytes, 0.0) << name;
  }
  for (const ProductTime& product : step.products) EXPECT_GT(product.seconds, 0.0);
  EXPECT_GT(floor_seconds(step.products), 0.0);
}

// Two counts of the same work that know nothing of each other: the products as they ran, and the
// formula of sparsity/account/flop_account.h without its attention, 12 L d T per token.
TEST(StepProfile, TheProductsOfAStepAreThoseOfTheFormula) {
  const ProfiledStep step;
  const double attention = 12.0 * 2 * 16 * 16 * kTokens;
  EXPECT_EQ(step.ops.at("gemm").flops, step.product_flops());
  EXPECT_DOUBLE_EQ(step.product_flops(), step.model_flops - attention);
}

TEST(StepProfile, AttentionCountsTheVisiblePairs) {
  const ProfiledStep step;
  const double forward = 2 * 4.0 * 4 * 2 * 8 * (16 * 17 / 2);  // layers, 4 B H D, pairs
  EXPECT_EQ(step.ops.at("attention_forward").flops, forward);
  EXPECT_EQ(step.ops.at("attention_backward").flops, 2.5 * forward);
  EXPECT_EQ(step.ops.at("attention_forward").calls, 2);
  // qkv (three heads' width), out, and lse of two heads; f32.
  EXPECT_EQ(step.ops.at("attention_forward").bytes, 2 * kTokens * 4 * (48 + 16 + 2));
}

TEST(StepProfile, EveryOpHasItsTimeAndIsCountedOnce) {
  const ProfiledStep step;
  expect_times(step);
  for (const auto& [name, time] : step.ops) {
    EXPECT_EQ(step.again.at(name).calls, time.calls) << name;
    EXPECT_EQ(step.again.at(name).seconds, time.seconds) << "asking twice adds nothing";
  }
}

// Three ops of known times, as a device would tell them only at the end.
class LateTimer final : public Timer {
 public:
  void start() override {}
  void stop() override { seconds_.push_back(static_cast<double>(++stops_)); }
  std::vector<double> take() override { return std::exchange(seconds_, {}); }

 private:
  std::vector<double> seconds_;
  int stops_ = 0;
};

TEST(StepProfile, TimesThatComeLateGoToTheirOps) {
  KernelTable table = reference_table();
  table.open_timer = [](Queue&) -> std::unique_ptr<Timer> { return std::make_unique<LateTimer>(); };
  const Context context(table, 1);
  StepProfile profile(context);
  for (const char* op : {"a", "b", "a"}) {
    profile.before(op);
    profile.after(op, {.bytes = 10, .flops = 3.0});
  }
  EXPECT_EQ(profile.ops().at("a").seconds, 1.0 + 3.0);
  EXPECT_EQ(profile.ops().at("b").seconds, 2.0);
  EXPECT_EQ(profile.ops().at("a").bytes, 20.0);
  EXPECT_EQ(profile.ops().at("b").flops, 3.0);
}

TEST(StepProfile, ADeviceTimesItsOpsItself) {
  Device device;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, device).usable)
    GTEST_SKIP() << "no GPU";
  const ProfiledStep step({"device=cuda"});
  expect_times(step);
  EXPECT_EQ(step.ops.at("adamw_all").calls, 1);
}

}  // namespace
}  // namespace twill
