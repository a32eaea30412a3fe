// SPDX-License-Identifier: Apache-2.0
#include "nn/target_loss.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/expect_error.h"

namespace twill::target_loss_test {
namespace {

constexpr std::int64_t kMost = 6, kClasses = 9;

// Room for six targets of nine classes, in f64 on the reference.
struct LossBench {
  explicit LossBench(bool training = true)
      : builder(context, {.dtype = DType::kF64, .training = training, .max_time = kMost}),
        loss(builder, kMost, kClasses) {
    builder.commit();
  }

  void load(std::vector<std::int32_t> ids) {
    Tensor targets(DType::kI32, {std::ssize(ids)});
    std::ranges::copy(ids, targets.view().as<std::int32_t>());
    loss.load(pass, targets.view());
  }
  // As a head leaves them behind.
  void set_losses(const Values& values) { assign(loss.losses(), values); }

  Context context{reference_table(), 1};
  Builder builder;
  TargetLoss loss;
  Pass pass{.context = context, .time = kMost};
};

TEST(TargetLoss, IsTheMeanOverTheTargetsThatThereAre) {
  LossBench of;
  of.load({3, -1, 0, -1, 8});
  of.set_losses({1.5, 0.0, 2.5, 0.0, 5.0});
  of.loss.count(of.pass);
  EXPECT_EQ(values_of(of.loss.num_targets()), Values{3.0});
  const PassLoss read = of.loss.read(of.pass);
  EXPECT_EQ(read.mean, 3.0);
  EXPECT_EQ(read.targets, 3.0);
}

TEST(TargetLoss, OfNoTargetIsZero) {
  LossBench of;
  of.load({-1, -1});
  of.set_losses({0.0, 0.0});
  of.loss.count(of.pass);
  const PassLoss read = of.loss.read(of.pass);
  EXPECT_EQ(read.mean, 0.0) << "not a number divided by zero";
  EXPECT_EQ(read.targets, 0.0);
}

// What a larger pass left behind is not read.
TEST(TargetLoss, ASmallerPassHasItsOwnTargetsAlone) {
  LossBench of;
  of.load({1, 2, 3, 4, 5, 6});
  of.set_losses(Values(kMost, 100.0));
  of.load({7, 0});
  EXPECT_EQ(of.loss.targets().num_elements(), 2);
  EXPECT_EQ(of.loss.losses().num_elements(), 2);
  of.set_losses({1.0, 2.0});
  of.loss.count(of.pass);
  const PassLoss read = of.loss.read(of.pass);
  EXPECT_EQ(read.mean, 1.5);
  EXPECT_EQ(read.targets, 2.0);
}

// Micro-batches add their means; a mean that is read in between is nobody's sum.
TEST(TargetLoss, MeansAreAddedWhereTheyAreAskedFor) {
  LossBench of;
  Tensor mean(DType::kF64, {1});
  of.load({1, -1, 2});
  of.set_losses({1.0, 0.0, 3.0});
  of.loss.count(of.pass);
  assign(mean.view(), {77.0});
  of.loss.add_mean(of.pass, {}, mean.view(), /*accumulate=*/false);
  EXPECT_EQ(values_of(mean.view()), Values{2.0}) << "overwritten";
  EXPECT_EQ(of.loss.read(of.pass).mean, 2.0);
  of.loss.add_mean(of.pass, {}, mean.view(), /*accumulate=*/true);
  EXPECT_EQ(values_of(mean.view()), Values{4.0}) << "added to";
  EXPECT_EQ(of.loss.read(of.pass).mean, 2.0) << "of the last pass";
}

TEST(TargetLoss, RefusesIdsThatNoClassHas) {
  LossBench of;
  of.load({-1, 0, kClasses - 1});
  expect_error(
      [&] {
        of.load({0, kClasses});
      },
      "target id 9 is outside the model's vocabulary of 9");
  expect_error([&] { of.load({-2}); }, "target id -2");
}

TEST(TargetLoss, ScoresAreThoseOfTheTargets) {
  LossBench of(/*training=*/false);
  of.load({4, -1, 2, 8});
  of.set_losses({0.25, 9.0, 1.5, 3.0});
  auto* best = of.loss.best().as<std::int32_t>();
  for (const std::int32_t id : {4, -1, 7, 8}) *best++ = id;
  const std::vector<TargetScore> scores = of.loss.scores(of.pass);
  ASSERT_EQ(scores.size(), 4u);
  const double losses[] = {0.25, 0.0, 1.5, 3.0};
  const bool greedy[] = {true, false, false, true};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(scores[i].loss, losses[i]) << i;
    EXPECT_EQ(scores[i].greedy, greedy[i]) << i << ": no target is no guess";
  }
}

TEST(TargetLoss, KeepsTheBestOutsideTrainingAlone) {
  LossBench training;
  EXPECT_FALSE(training.loss.best());
  EXPECT_THROW(training.loss.scores(training.pass), InternalError);
  LossBench of(/*training=*/false);
  of.load({1, 2});
  EXPECT_EQ(of.loss.best().num_elements(), 2);
}

}  // namespace
}  // namespace twill::target_loss_test
