// SPDX-License-Identifier: Apache-2.0
#include "train/run/training_run.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/stop_after.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

class TrainingRun : public testing::Test {
 protected:
  std::vector<std::string> settings(std::vector<std::string> more) const {
    more.push_back("run.dir=" + dir_.path());
    return tiny_settings(more);
  }
  Outcome start(const std::vector<std::string>& more, std::int64_t stop_after = -1) {
    StopAfter listener(stop_after);
    return run_training({.config_file = "", .overrides = settings(more), .resume = ""}, listener,
                        listener.stop);
  }
  Outcome resume(const std::string& run, const std::vector<std::string>& overrides = {}) {
    StopAfter listener(-1);
    std::vector<std::string> all = overrides;
    all.push_back("run.dir=" + dir_.path());
    return run_training({.config_file = "", .overrides = all, .resume = run}, listener,
                        listener.stop);
  }
  // Metrics without the times.
  std::string metrics(const std::string& run) const {
    std::istringstream lines(content_of(dir_ / (run + "/metrics.jsonl")));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      nlohmann::json json = nlohmann::json::parse(line);
      json.erase("tokens_per_s");
      text += json.dump() + "\n";
    }
    return text;
  }
  void expect_same_end(const std::string& a, const std::string& b) const {
    for (const char* file : {"model", "state"}) {
      const std::string name = std::string("/checkpoints/step-00000012/") + file + ".safetensors";
      ASSERT_FALSE(content_of(dir_ / (a + name)).empty());
      EXPECT_EQ(content_of(dir_ / (a + name)), content_of(dir_ / (b + name)));
    }
    EXPECT_EQ(metrics(a), metrics(b));
  }

  TempDir dir_;
};

TEST_F(TrainingRun, WritesWhatItPromises) {
  EXPECT_EQ(start({}), Outcome::kDone);
  for (const char* file :
       {"config.toml", "metrics.jsonl", "checkpoints/step-00000012/model.safetensors",
        "checkpoints/step-00000012/state.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(dir_ / ("gpt-001/" + std::string(file)))) << file;
  std::istringstream lines(content_of(dir_ / "gpt-001/metrics.jsonl"));
  std::vector<std::int64_t> trained, evaluated;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.contains("val_loss")) {
      evaluated.push_back(json.at("step"));
      continue;
    }
    trained.push_back(json.at("step"));
    for (const char* key : {"tokens", "loss", "lr", "grad_norm", "tokens_per_s"})
      EXPECT_TRUE(json.at(key).is_number()) << key;
    EXPECT_EQ(json.at("tokens"), 64 * trained.back());
  }
  EXPECT_EQ(trained, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(evaluated, (std::vector<std::int64_t>{0, 4, 8, 12}));
}

TEST_F(TrainingRun, TakesTheNextFreeName) {
  start({"train.steps=1"});
  start({"train.steps=1"});
  EXPECT_TRUE(std::filesystem::exists(dir_ / "gpt-002/config.toml"));
  start({"train.steps=1", "model.family=llama"});
  EXPECT_TRUE(std::filesystem::exists(dir_ / "llama-001/config.toml"));
}

TEST_F(TrainingRun, StoppedAndResumedEqualsUninterrupted) {
  EXPECT_EQ(start({"run.name=whole"}), Outcome::kDone);
  for (const std::int64_t step : {3, 5, 8, 11}) {
    const std::string name = "stopped-" + std::to_string(step);
    EXPECT_EQ(start({"run.name=" + name}, step), Outcome::kInterrupted);
    EXPECT_EQ(resume(name), Outcome::kDone);
    expect_same_end("whole", name);
  }
}

TEST_F(TrainingRun, ResumesFromAnOlderCheckpoint) {
  start({"run.name=whole"});
  start({"run.name=again"});
  EXPECT_EQ(resume(dir_ / "again/checkpoints/step-00000010"), Outcome::kDone);
  expect_same_end("whole", "again");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "again/checkpoints/replaced-step-00000012"));
}

// Whatever is kept, going on from an older checkpoint destroys no good one and is itself resumable.
TEST_F(TrainingRun, ARewoundRunIsResumable) {
  start({"run.name=whole"});
  start({"run.name=rewound", "checkpoint.every=2", "checkpoint.keep=9"});
  StopAfter listener(5);
  run_training({.config_file = "",
                .overrides = {"checkpoint.keep=1", "run.dir=" + dir_.path()},
                .resume = dir_ / "rewound/checkpoints/step-00000004"},
               listener, listener.stop);
  EXPECT_EQ(list_checkpoints(dir_ / "rewound/checkpoints").size(), 1u);
  for (const char* later : {"06", "08", "10", "12"})
    EXPECT_TRUE(std::filesystem::exists(
        dir_ / (std::string("rewound/checkpoints/replaced-step-000000") + later)));
  EXPECT_EQ(resume("rewound"), Outcome::kDone);
  expect_same_end("whole", "rewound");
}

TEST_F(TrainingRun, ARunWithoutCheckpointStartsAgain) {
  start({"run.name=whole"});
  start({"run.name=killed"});
  std::filesystem::remove_all(dir_ / "killed/checkpoints");
  EXPECT_EQ(resume("killed"), Outcome::kDone);
  expect_same_end("whole", "killed");
}

TEST_F(TrainingRun, RefusesAnExistingName) {
  start({"run.name=twice", "train.steps=1"});
  expect_error([&] { start({"run.name=twice"}); }, "/twice or choose another run.name");
  expect_error([&] { start({"run.name=a/b"}); }, "run.name = \"a/b\" must not contain '/'");
  for (const char* name : {"run.name=.", "run.name=.."})
    expect_error([&] { start({name}); }, "is no name for a folder");
}

TEST_F(TrainingRun, RefusesToResumeAsAnotherRun) {
  start({"run.name=mine"}, 3);
  expect_error([&] { resume("mine", {"optimizer.lr=0.5"}); },
               "with optimizer.lr = 0.5: it was started with 0.002; leave the key out");
  EXPECT_EQ(resume("mine", {"checkpoint.keep=1", "threads=2"}), Outcome::kDone);
  EXPECT_EQ(list_checkpoints(dir_ / "mine/checkpoints").size(), 1u);
}

TEST_F(TrainingRun, RefusesARunThatIsInUse) {
  start({"run.name=mine"}, 3);
  RunFolder folder = RunFolder::open("mine", dir_.path());
  folder.lock();
  expect_error([&] { resume("mine"); }, "/mine is being trained by another process");
}

TEST_F(TrainingRun, CanBeMadeLonger) {
  start({"run.name=mine", "schedule.kind=constant"});
  EXPECT_EQ(resume("mine", {"train.steps=15"}), Outcome::kDone);
  EXPECT_EQ(step_of(list_checkpoints(dir_ / "mine/checkpoints").back()), 15);
}

TEST_F(TrainingRun, FindsATextThatHasMoved) {
  const std::string text = std::string(4000, 'a') + std::string(500, 'b');
  start({"run.name=own", "data.train=" + dir_.write("here.txt", text)}, 3);
  std::filesystem::remove(dir_ / "here.txt");
  EXPECT_EQ(resume("own", {"data.train=" + dir_.write("there.txt", text)}), Outcome::kDone);
}

TEST(ShellQuoted, QuotesWhatAShellWouldSplit) {
  EXPECT_EQ(shell_quoted("runs/gpt-001"), "runs/gpt-001");
  EXPECT_EQ(shell_quoted("a b;$c"), "'a b;$c'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

TEST_F(TrainingRun, RefusesWhatIsNoRun) {
  expect_error([&] { resume("nothing"); }, "no run named nothing: neither");
  RunFolder::create(tiny_config({"run.dir=" + dir_.path(), "run.name=bare"}));
  expect_error([&] { resume("bare"); }, "no run named bare");
  EXPECT_EQ(start({"run.name=bare"}), Outcome::kDone) << "an empty folder is free to take";
}

TEST_F(TrainingRun, RefusesAnotherText) {
  const std::string text = dir_.write("text.txt", std::string(4000, 'a') + std::string(500, 'b'));
  start({"run.name=own", "data.train=" + text}, 3);
  dir_.write("text.txt", std::string(4500, 'c'));
  expect_error([&] { resume("own"); }, "data.hash");
}

// A learning rate of 1e3 without clipping leaves the finite numbers within a few steps.
TEST_F(TrainingRun, StopsWhenTheLossIsNotFinite) {
  const std::vector<std::string> wild{"run.name=wild", "optimizer.lr=1e3", "optimizer.clip=0",
                                      "optimizer.weight_decay=1e6", "train.steps=60"};
  expect_error([&] { start(wild); }, "is not finite; the state before it is saved in");
  EXPECT_EQ(resume("wild", {"train.on_nonfinite=skip"}), Outcome::kDone);
}

}  // namespace
}  // namespace twill
