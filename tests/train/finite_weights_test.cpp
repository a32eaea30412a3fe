// SPDX-License-Identifier: Apache-2.0
// Weights that are not finite replace no checkpoint, are not taken in and not given away.
#include "train/model/finite_weights.h"

#include <atomic>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "exchange/hf_export.h"
#include "exchange/memory_model.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/model/import_model.h"
#include "train/run/checkpoint.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(FiniteWeights, AreFoundAndCounted) {
  TinyTrainer tiny;
  EXPECT_EQ(find_nonfinite(tiny.trainer.builder()), "");
  Parameter& last = tiny.trainer.builder().parameters().back();
  float* values = last.value.as<float>();
  values[0] = kNan;
  values[last.value.num_elements() - 1] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(find_nonfinite(tiny.trainer.builder()),
            last.name + " (2 of " + std::to_string(last.value.num_elements()) + " values)");
  expect_error([&] { require_finite_weights(tiny.trainer.builder(), "m"); },
               "m: holds weights that are not finite: " + last.name);
}

TEST(FiniteWeights, TheLastGoodCheckpointStays) {
  const TempDir dir;
  TinyTrainer tiny;
  (void)tiny.losses(1);
  const std::string good = save_checkpoint(dir.path(), tiny.trainer, 1);
  (void)tiny.losses(1);
  tiny.trainer.builder().parameters().front().value.as<float>()[3] = kNan;
  expect_error([&] { save_checkpoint(dir.path(), tiny.trainer, 1); },
               "step 2: weights are not finite, and this state is not saved");
  expect_error([&] { save_checkpoint(dir.path(), tiny.trainer, 1); },
               "the last good one is " + good);
  EXPECT_EQ(list_checkpoints(dir.path()), std::vector<std::string>{good});
}

// A moment of zero over a root of zero, where a token never came: the first step loses the embedding.
TEST(FiniteWeights, ARunWithoutEpsilonSavesNothingBroken) {
  const TempDir dir;
  TrainingListener listener;
  const std::atomic<bool> never{false};
  const std::vector<std::string> settings =
      tiny_settings({"run.dir=" + dir.path(), "run.name=r", "optimizer.eps=0", "checkpoint.every=1",
                     "checkpoint.keep=1"});
  expect_error(
      [&] {
        run_training({.config_file = "", .overrides = settings, .resume = ""}, listener, never);
      },
      "weights are not finite, and this state is not saved");
  EXPECT_TRUE(list_checkpoints(dir / "r/checkpoints").empty());
}

TEST(FiniteWeights, AreNotImported) {
  const TempDir dir;
  MemoryModel model(tiny_config().model);
  initialise(model.builder.parameters(), 7);
  model.builder.parameters().back().value.as<float>()[0] = kNan;
  export_hf(model.builder, model.model.config(), ByteTokenizer(), {.folder = dir / "hf"});
  expect_error(
      [&] {
        import_model(
            {.source = dir / "hf", .name = "r", .tokenizer = {}, .runs_dir = dir / "runs"});
      },
      dir / "hf: holds weights that are not finite");
  EXPECT_FALSE(std::filesystem::exists(dir / "runs"));
}

}  // namespace
}  // namespace twill
