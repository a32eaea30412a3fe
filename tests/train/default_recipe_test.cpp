// SPDX-License-Identifier: Apache-2.0
// What a run is where nobody says: one recipe whatever other keys are given, and a preset's own rates.
#include <gtest/gtest.h>

#include "io/config/toml_config.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/run/preset_training.h"
#include "train/run/run_config.h"

namespace twill {
namespace {

RunConfig trained(const std::vector<std::string>& overrides, const std::string& file = "") {
  return read_run_config(file, overrides, NoRecipe::kPreset);
}

std::string text(RecipeConfig recipe) { return write_toml(recipe); }

TEST(DefaultRecipe, IsTheSameWhateverOtherKeysAreGiven) {
  const RunConfig plain = trained({});
  EXPECT_EQ(plain.recipe.name, "fst");
  EXPECT_EQ(plain.recipe.execution, Execution::kFastest);
  for (const char* key : {"run.name=x", "threads=2", "train.steps=40", "data.train=mine.txt",
                          "model.layers=2", "model=tiny", "optimizer.lr=1e-3"})
    EXPECT_EQ(text(trained({key}).recipe), text(plain.recipe)) << key;
  RunConfig file = trained({}, TWILL_SOURCE_DIR "/configs/tiny.toml"), none = plain;
  EXPECT_EQ(write_toml(file), write_toml(none)) << "configs/tiny.toml says what no file says";
}

TEST(DefaultRecipe, StepsAsideForANamedOne) {
  const RunConfig named = trained({"recipe=fst"});
  EXPECT_EQ(text(named.recipe), text(read_recipe("fst"))) << "as written, its own decay";
  EXPECT_EQ(named.recipe.execution, Execution::kAuto);
  EXPECT_TRUE(trained({"recipe=dense"}).recipe.is_dense());
  const RunConfig phases = trained({"recipe.phase=[{weights = \"2:4\"}]"});
  EXPECT_EQ(phases.recipe.phase.size(), 1U);
  EXPECT_EQ(phases.recipe.execution, Execution::kAuto);
  EXPECT_EQ(trained({"recipe.execution=masked"}).recipe.execution, Execution::kMasked);
}

TEST(DefaultRecipe, IsDenseForPublishedModelsAndForWhoAsksForNone) {
  EXPECT_TRUE(trained({"model=gpt2-124m"}).recipe.is_dense());
  EXPECT_TRUE(read_run_config("", {}).recipe.is_dense());
}

TEST(DefaultRecipe, IsNoneForWeightsFromElsewhere) {
  EXPECT_TRUE(trained({"train.start_from=gpt2"}).recipe.is_dense());
}

TEST(DefaultRecipe, LeavesHintsOfForeignWordsInPlace) {
  expect_error([] { (void)trained({"learning_rate=1e-3"}); }, "optimizer.lr");
}

// A file that names the recipe and nothing of its execution is the run's own, whatever that was.
TEST(RunConfigOver, KeepsWhatTheFileLeavesOpen) {
  const TempDir dir;
  const std::string file = dir.write("mine.toml", "recipe = \"fst\"\n");
  const RunConfig saved = trained({"recipe=fst", "recipe.execution=fastest", "optimizer.lr=1e-3"});
  const RunConfig wanted = read_run_config_over(saved, file, {});
  EXPECT_EQ(wanted.recipe.execution, Execution::kFastest);
  EXPECT_EQ(wanted.optimizer.lr, 1e-3);
  EXPECT_EQ(read_run_config_over(saved, file, {"recipe.execution=masked"}).recipe.execution,
            Execution::kMasked);
}

TEST(PresetTraining, BringsItsOwnRatesAndGivesWayToEveryKey) {
  const RunConfig gpt2 = trained({"model=gpt2-124m"});
  EXPECT_EQ(gpt2.optimizer.lr, 6e-4);
  EXPECT_EQ(gpt2.optimizer.beta2, 0.95);
  EXPECT_EQ(gpt2.schedule.warmup_steps, 715);
  EXPECT_EQ(gpt2.train.batch_tokens, 524288);
  EXPECT_EQ(gpt2.train.micro_batch, 32);
  EXPECT_EQ(trained({"model=gpt2-124m", "optimizer.lr=1e-3"}).optimizer.lr, 1e-3);
  EXPECT_EQ(trained({"model=gpt2-124m", "train.micro_batch=12"}).train.batch_tokens, 43 * 12 * 1024)
      << "the nearest multiple";
  EXPECT_EQ(trained({"model=gpt2-124m", "train.micro_batch=12", "train.batch_tokens=500000"})
                .train.batch_tokens,
            500000)
      << "a key that is given is not touched";
  EXPECT_EQ(trained({}).optimizer.lr, OptimizerConfig().lr);
}

}  // namespace
}  // namespace twill
