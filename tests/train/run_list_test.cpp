// SPDX-License-Identifier: Apache-2.0
// Lists of runs, and what can be removed of them.
#include "train/run/run_list.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "io/error_text.h"
#include "io/temp_dir.h"
#include "train/run/run_metrics.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

class RunList : public testing::Test {
 protected:
  // Saves at steps 5, 10 and 12, and keeps two of them.
  void train(const std::string& name, const std::vector<std::string>& more = {},
             const std::string& resume = {}) const {
    std::vector<std::string> settings = tiny_settings(more);
    settings.push_back("run.dir=" + dir_.path());
    if (resume.empty()) settings.push_back("run.name=" + name);
    TrainingListener silent;
    const std::atomic<bool> never{false};
    const std::vector<std::string> changes{"run.dir=" + dir_.path()};
    run_training(
        {.config_file = "", .overrides = resume.empty() ? settings : changes, .resume = resume},
        silent, never);
  }
  RunFolder open(const std::string& name) const { return RunFolder::open(name, dir_.path()); }
  std::string checkpoint(const std::string& run, const std::string& name) const {
    return dir_ / (run + "/checkpoints/" + name);
  }
  TempDir dir_;
};

TEST_F(RunList, SaysWhatARunIs) {
  train("a");
  train("b", {"recipe=ste", "eval.every=0"});
  dir_.write("no-run/file", "x");
  const std::vector<RunSummary> runs = list_runs(dir_.path());
  ASSERT_EQ(runs.size(), 2U);
  const RunSummary& a = runs[runs[0].name == "a" ? 0 : 1];
  const RunSummary& b = runs[runs[0].name == "a" ? 1 : 0];
  EXPECT_EQ(a.recipe, "dense");
  EXPECT_EQ(b.recipe, "ste");
  EXPECT_EQ(a.model, "tiny");
  EXPECT_EQ(a.parameters, num_parameters(open("a").read_config().model));
  EXPECT_EQ(a.step, 12);
  EXPECT_EQ(a.steps, 12);
  EXPECT_GT(a.bytes, 10'000);
  EXPECT_GT(a.changed, 0);
  EXPECT_FALSE(a.is_training);
  EXPECT_EQ(a.validation_loss, summarise_metrics(open("a").metrics_file()).last_validation_loss);
  EXPECT_TRUE(list_runs(dir_ / "nowhere").empty());
}

TEST_F(RunList, ARunWithoutAGoodConfigIsListedWithWhatIsWrong) {
  dir_.write("bad/config.toml", "[train]\nstepz = 3\n");
  const std::vector<RunSummary> runs = list_runs(dir_.path());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].name, "bad");
  EXPECT_NE(runs[0].problem.find("unknown key 'stepz'"), std::string::npos) << runs[0].problem;
}

TEST_F(RunList, PruningKeepsTheLatestCheckpointAndTheRunGoesOn) {
  train("a");
  train("a", {}, dir_ / "a/checkpoints/step-00000010");  // sets 12 aside, makes it again
  dir_.write("a/checkpoints/.unfinished-step-00000007/model.safetensors", "half");
  RunFolder run = open("a");
  const Prunable found = find_prunable(run);
  EXPECT_EQ(found.paths, (std::vector<std::string>{checkpoint("a", ".unfinished-step-00000007"),
                                                   checkpoint("a", "replaced-step-00000012"),
                                                   checkpoint("a", "step-00000010")}));
  EXPECT_EQ(prune(run), found.bytes);
  EXPECT_EQ(list_runs(dir_.path())[0].step, 12);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(run.checkpoints()))
    left.push_back(entry.path().string());
  EXPECT_EQ(left, std::vector<std::string>{checkpoint("a", "step-00000012")});
  EXPECT_TRUE(find_prunable(run).paths.empty());
}

TEST_F(RunList, ADamagedLatestCheckpointStaysBesideTheNewestGoodOne) {
  train("a", {"checkpoint.keep=9"});
  const std::string latest = checkpoint("a", "step-00000012/model.safetensors");
  fs::resize_file(latest, fs::file_size(latest) - 1);
  EXPECT_EQ(find_prunable(open("a")).paths,
            std::vector<std::string>{checkpoint("a", "step-00000005")});
}

TEST_F(RunList, ARunThatIsTrainedIsLeftAlone) {
  train("a");
  RunFolder held = open("a");
  held.lock();
  EXPECT_TRUE(list_runs(dir_.path())[0].is_training);
  RunFolder run = open("a");
  EXPECT_NE(error_text([&] { prune(run); }).find("is being trained by another process"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(checkpoint("a", "step-00000010")));
}

TEST_F(RunList, MetricsSayTheFirstAndTheLastValidationLoss) {
  const std::string path = dir_.write(
      "m",
      "{\"step\":0,\"val_loss\":5.5}\n{\"step\":1,\"loss\":5}\nnot \"val_loss\" JSON\n"
      "{\"step\":4,\"val_loss\":4,\"val_loss_master\":3}\n{\"step\":7,\"loss\":2}\n{\"step\":8");
  const MetricsSummary summary = summarise_metrics(path);
  EXPECT_EQ(summary.first_validation_loss, 5.5);
  EXPECT_EQ(summary.last_validation_loss, 4.0);
  EXPECT_EQ(summary.last_step, 7);
  EXPECT_EQ(summarise_metrics(dir_ / "absent").last_step, -1);
}

// The first loss of a run is not the first of the process that goes on with it.
TEST_F(RunList, AResumedRunKnowsItsOwnFirstValidationLoss) {
  struct Facts : TrainingListener {
    void on_begin(const RunConfig&, const RunFacts& facts) override {
      first = facts.first_validation_loss;
    }
    void on_evaluation(std::int64_t, double loss) override { losses.push_back(loss); }
    std::optional<double> first;
    std::vector<double> losses;
  } begun, resumed;
  const std::atomic<bool> never{false};
  std::vector<std::string> settings = tiny_settings({"run.name=a", "run.dir=" + dir_.path()});
  run_training({.config_file = "", .overrides = settings, .resume = ""}, begun, never);
  EXPECT_FALSE(begun.first.has_value());
  run_training({.config_file = "",
                .overrides = {"run.dir=" + dir_.path()},
                .resume = dir_ / "a/checkpoints/step-00000010"},
               resumed, never);
  ASSERT_TRUE(resumed.first.has_value());
  EXPECT_EQ(*resumed.first, begun.losses.front());
  EXPECT_NE(resumed.losses.front(), begun.losses.front());
}

}  // namespace
}  // namespace twill
