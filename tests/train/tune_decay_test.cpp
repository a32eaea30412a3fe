// SPDX-License-Identifier: Apache-2.0
#include "train/studies/tune_decay.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

DecayTuning tune(const std::string& folder, const std::vector<double>& lambdas,
                 const std::vector<std::string>& more = {}, std::int64_t steps = 8) {
  std::vector<std::string> settings = tiny_settings({"recipe=fst", "schedule.warmup_steps=1"});
  settings.insert(settings.end(), more.begin(), more.end());
  return tune_decay({.config_file = "",
                     .overrides = settings,
                     .steps = steps,
                     .lambdas = lambdas,
                     .folder = folder},
                    false, {});
}

// The dense run is a dense run to the bit, and its flips are those of health.virtual_mask.
TEST(TuneDecay, DenseRunHasAVirtualMask) {
  const RecipeConfig fst = read_recipe("fst");
  TinyTrainer plain({"recipe.health.virtual_mask=2:4-transposable", "recipe.health.every=1"});
  RunConfig config = plain.config;
  config.recipe = dense_recipe(fst, 0);
  config.recipe.health = {.every = 1};
  Trainer masked(plain.context, config, plain.data);
  masked.begin();
  for (int step = 0; step < 6; ++step) {
    EXPECT_EQ(masked.step().loss, plain.trainer.step().loss);
    const auto a = masked.sparsity().take_sample(), b = plain.trainer.sparsity().take_sample();
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->overall.flip_rate, b->overall.flip_rate);
    EXPECT_GT(a->overall.flip_rate, 0.0);
  }
}

TEST(TuneDecay, MeasuresTheMeanOfTheLastQuarter) {
  const TempDir dir;
  const DecayTuning tuning = tune(dir.path(), {0.01});
  EXPECT_EQ(tuning.every, 1);
  EXPECT_EQ(tuning.phase_index, 0);
  RunConfig config = tiny_config({"recipe=fst", "schedule.warmup_steps=1"});
  config.recipe = decaying_recipe(config.recipe, 0, 0.01);
  config.recipe.health.every = 1;
  const TrainingData data = open_run_data(config);
  const Context context(cpu_table(), 1);
  Trainer trainer(context, config, data);
  trainer.begin();
  double flips = 0.0, losses = 0.0;
  for (int step = 0; step < 8; ++step) {
    const double loss = trainer.step().loss;
    const double rate = trainer.sparsity().take_sample()->overall.flip_rate;
    if (step >= 6) flips += rate / 2, losses += loss / 2;
  }
  ASSERT_EQ(tuning.trials.size(), 1u);
  EXPECT_EQ(tuning.trials[0].flip_rate, flips);
  EXPECT_EQ(tuning.trials[0].loss, losses);
  EXPECT_GT(tuning.dense.flip_rate, 0.0);
}

// A strong pull freezes the mask, none does not.
TEST(TuneDecay, DecayLowersFlips) {
  const TempDir dir;
  const DecayTuning tuning = tune(dir.path(), {0.0, 1.0, 1000.0}, {"train.steps=40"}, 40);
  ASSERT_EQ(tuning.trials.size(), 3u);
  EXPECT_GT(tuning.mu(tuning.trials[0]), tuning.mu(tuning.trials[2]));
  EXPECT_LT(tuning.mu(tuning.trials[2]), kLowestMu);
}

TEST(TuneDecay, FinishedRunsAreKept) {
  const TempDir dir;
  const DecayTuning first = tune(dir.path(), {0.0});
  EXPECT_FALSE(first.dense.kept);
  // A longer grid takes what is there; so do keys that change no result.
  const DecayTuning second = tune(dir.path(), {0.1, 0.0}, {"threads=2", "eval.every=1"});
  EXPECT_TRUE(second.dense.kept);
  EXPECT_EQ(second.dense.flip_rate, first.dense.flip_rate);
  ASSERT_EQ(second.trials.size(), 2u);
  EXPECT_TRUE(second.trials[0].kept);
  EXPECT_EQ(second.trials[0].loss, first.trials[0].loss);
  EXPECT_FALSE(second.trials[1].kept);
}

TEST(TuneDecay, OtherSettingsAreRefused) {
  const TempDir dir;
  tune(dir.path(), {0.0});
  expect_error([&] { tune(dir.path(), {0.0}, {"optimizer.lr=1e-3"}); },
               "holds results of other settings");
  expect_error([&] { tune(dir.path(), {0.0}, {}, 9); }, "holds results of other settings");
  const std::string text = content_of(dir / "tune.jsonl");
  dir.write("tune.jsonl", text.substr(0, text.size() - 9));
  expect_error([&] { tune(dir.path(), {0.0}); }, "tune.jsonl: line 3: ");
}

TEST(TuneDecay, StopsBetweenSteps) {
  const TempDir dir;
  const DecayTuning tuning = tune_decay({.config_file = "",
                                         .overrides = tiny_settings({"recipe=fst"}),
                                         .steps = 4,
                                         .lambdas = {0.0},
                                         .folder = dir.path()},
                                        true, {});
  EXPECT_TRUE(tuning.interrupted);
}

DecayTuning with_flips(const std::vector<std::pair<double, double>>& trials) {
  DecayTuning tuning;
  tuning.dense.flip_rate = 1.0;
  for (const auto& [lambda, mu] : trials)
    tuning.trials.push_back({.lambda = lambda, .flip_rate = mu});
  return tuning;
}

TEST(TuneDecay, ChoosesNearestToTheMiddle) {
  EXPECT_EQ(with_flips({{0, 1.1}, {1e-6, 0.94}, {1e-5, 0.78}, {1e-4, 0.6}}).chosen()->lambda, 1e-5);
  EXPECT_EQ(with_flips({{1e-6, 0.95}, {1e-5, 0.59}}).chosen()->lambda, 1e-6);
  EXPECT_EQ(with_flips({{1e-6, 0.96}, {1e-5, 0.59}}).chosen(), nullptr);
  const DecayTuning tuning = with_flips({{0, 0.951}, {1e-6, 0.95}, {1e-5, 0.6}, {1e-4, 0.599}});
  EXPECT_EQ(tuning.verdict(tuning.trials[0]), "thrashes");
  EXPECT_EQ(tuning.verdict(tuning.trials[1]), "in the window");
  EXPECT_EQ(tuning.verdict(tuning.trials[2]), "in the window");
  EXPECT_EQ(tuning.verdict(tuning.trials[3]), "frozen early");
}

TEST(TuneDecay, AdvisesWhereNothingFits) {
  const auto says = [](const DecayTuning& tuning, const std::string& part) {
    EXPECT_NE(tuning.advice().find(part), std::string::npos) << tuning.advice();
  };
  says(with_flips({{0, 1.2}, {1e-5, 1.1}}),
       "all of them thrash; try stronger ones, as --lambdas 3e-05,");
  says(with_flips({{1e-5, 0.5}, {1e-4, 0.1}}), "try weaker ones, as --lambdas 1e-06,");
  says(with_flips({{0, 0.5}}), "needs none");
  says(with_flips({{1e-6, 1.2}, {1e-4, 0.1}}), "try between them, as --lambdas 1e-05");
}

}  // namespace
}  // namespace twill
