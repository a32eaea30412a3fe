// SPDX-License-Identifier: Apache-2.0
#include "train/studies/probe_descent.h"

#include <cmath>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "ops/selection/soft_threshold24.h"
#include "support/expect_error.h"
#include "tensor/tensor.h"
#include "train/run/frozen_projection.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

// A run of a few steps in `dir`, named "r".
void train_run(const TempDir& dir, const std::vector<std::string>& more) {
  std::vector<std::string> settings = tiny_settings({"run.name=r", "run.dir=" + dir.path()});
  settings.insert(settings.end(), more.begin(), more.end());
  TrainingListener silent;
  run_training({.config_file = "", .overrides = settings, .resume = ""}, silent, false);
}

DescentProbe probe(const TempDir& dir, std::int64_t steps, const std::string& pattern = "") {
  return probe_descent(
      {.run = "r", .runs_dir = dir.path(), .steps = steps, .pattern = pattern, .threads = 1});
}

TEST(FrozenProjection, KeepsSupportAndThreshold) {
  // Magnitudes 1 2 3 5, threshold 2: positions 2 and 3 stay.
  std::vector<float> old{1, -2, 3, -5}, fresh{9, 9, -4, 1.5F}, y(4, 7.0F);
  const auto view = [](std::vector<float>& data, Shape shape) {
    return View(reinterpret_cast<std::byte*>(data.data()), DType::kF32, shape);
  };
  project_with_old_threshold(view(old, {1, 4}), view(fresh, {1, 4}), GroupAxis::kWithinRow, 2.0,
                             view(y, {1, 4}));
  EXPECT_EQ(y, (std::vector<float>{0, 0, -4, 0}));
  project_with_old_threshold(view(old, {4, 1}), view(old, {4, 1}), GroupAxis::kWithinColumn, 1.0,
                             view(y, {4, 1}));
  EXPECT_EQ(y, (std::vector<float>{0, 0, 1, -3}));
}

TEST(FrozenProjection, OfUnmovedWeightsIsTheSoftProjection) {
  const TinyTrainer tiny;
  for (const GroupAxis axis : {GroupAxis::kWithinRow, GroupAxis::kWithinColumn}) {
    for (const Parameter& parameter : tiny.trainer.builder().parameters()) {
      if (!parameter.name.ends_with("ffn.input.weight")) continue;
      Tensor expected(DType::kF32, parameter.shape), got(DType::kF32, parameter.shape);
      soft_threshold24(tiny.context,
                       {.x = parameter.value, .y = expected.view(), .axis = axis, .scale = 1.37});
      project_with_old_threshold(parameter.value, parameter.value, axis, 1.37, got.view());
      for (std::int64_t i = 0; i < parameter.value.num_elements(); ++i)
        ASSERT_EQ(got.view().as<float>()[i], expected.view().as<float>()[i]) << i;
    }
  }
}

// Without clipping, decay and estimators, probing `ste` is training `ste`: the same losses to the bit.
TEST(ProbeDescent, TakesTheStepsOfTheRun) {
  const TempDir dir;
  const std::vector<std::string> settings{"recipe=ste", "model.dropout=0.1",
                                          "train.batch_tokens=128"};
  train_run(dir, settings);
  const DescentProbe result = probe(dir, 3);
  TinyTrainer whole(settings);
  whole.losses(12);
  const std::vector<double> losses = whole.losses(3);
  ASSERT_EQ(result.series.size(), 2u);
  EXPECT_EQ(result.series[0].projection, "hard 2:4");
  EXPECT_EQ(result.series[1].projection, "soft 2:4");
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_EQ(result.series[0].rows[i].loss, losses[i]);
    EXPECT_EQ(result.series[0].rows[i].step, 13 + static_cast<std::int64_t>(i));
  }
}

// The same of a soft run, whose scale is the frozen one of its first step (MVUE off).
TEST(ProbeDescent, TakesTheScalesOfASoftRun) {
  const TempDir dir;
  const std::vector<std::string> settings{"recipe=s-ste", "recipe.phase.0.wgrad.estimator=dense"};
  train_run(dir, settings);
  TinyTrainer whole(settings);
  whole.losses(12);
  const std::vector<double> losses = whole.losses(2);
  const DescentProbe result = probe(dir, 2);
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_EQ(result.series[1].rows[i].loss, losses[i]);
}

// To first order all of it agrees: with a small step no mask changes, and the change of the loss is
// the prediction along what moved.
TEST(ProbeDescent, SmallStepsGoAsPredicted) {
  const TempDir dir;
  train_run(dir, {"recipe=ste", "optimizer.lr=2e-5", "optimizer.weight_decay=0"});
  for (const DescentSeries& series : probe(dir, 4).series) {
    for (const DescentRow& row : series.rows) {
      EXPECT_LT(row.predicted, 0.0);
      // f32 losses near 5.5 resolve 5e-7.
      EXPECT_NEAR(row.updated, row.along, 0.03 * std::abs(row.along) + 2e-6) << series.projection;
      EXPECT_LT(row.flip_rate, 0.01);
      if (row.flip_rate == 0.0 && series.projection == "hard 2:4") {
        EXPECT_EQ(row.frozen, row.updated);
      }
    }
  }
}

TEST(ProbeDescent, OfADenseRunByPattern) {
  const TempDir dir;
  train_run(dir, {});
  const DescentProbe result = probe(dir, 2, "2:4-transposable");
  EXPECT_EQ(result.series[0].projection, "hard 2:4-transposable");
  EXPECT_EQ(result.series[0].rows.size(), 2u);
  expect_error([&] { probe(dir, 2); }, "its recipe dense projects no weights");
}

TEST(ProbeDescent, FitsByHand) {
  const DescentSeries series{.projection = "hand",
                             .rows = {{.predicted = -1.0, .updated = -2.0},
                                      {.predicted = -3.0, .updated = 2.0},
                                      {.predicted = 1.0, .updated = -6.0}}};
  const DescentFit fit = series.fit(&DescentRow::updated);
  EXPECT_DOUBLE_EQ(fit.mean, -2.0);
  EXPECT_DOUBLE_EQ(fit.wrong, 0.5);
  EXPECT_DOUBLE_EQ(fit.correlation, -1.0);
  EXPECT_DOUBLE_EQ(fit.error, (1.0 + 5.0 + 7.0) / 3.0);
}

}  // namespace
}  // namespace twill
