// SPDX-License-Identifier: Apache-2.0
// A run holds its folder: when it goes or another one takes its name while it trains, nothing is
// lost and nobody else's files are touched.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/require.h"
#include "support/expect_error.h"
#include "train/planned_run.h"
#include "train/run/run_folder.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

// Does something to the run's folder behind one step.
class Meddler : public TrainingListener {
 public:
  Meddler(std::int64_t step, std::function<void()> meddle)
      : step_(step), meddle_(std::move(meddle)) {}
  void on_step(const StepResult& result, const StepShares&) override {
    if (result.step == step_) meddle_();
  }
  std::atomic<bool> stop{false};

 private:
  std::int64_t step_;
  std::function<void()> meddle_;
};

class HeldFolder : public testing::Test {
 protected:
  void train(const std::string& name, const std::function<void()>& meddle) {
    Meddler listener(7, meddle);
    run_training({.config_file = "",
                  .overrides = tiny_settings({"run.dir=" + dir_.path(), "run.name=" + name}),
                  .resume = ""},
                 listener, listener.stop);
  }
  void resume(
      const std::string& name, const std::function<void()>& meddle = [] {}) {
    Meddler listener(7, meddle);
    run_training({.config_file = "", .overrides = {}, .resume = dir_ / name}, listener,
                 listener.stop);
  }
  std::string end_of(const std::string& run) const {
    const std::string last = run + "/checkpoints/step-00000012/";
    return content_of(dir_ / (last + "model.safetensors")) +
           content_of(dir_ / (last + "state.safetensors"));
  }
  // It holds the state of step 10, the first to be saved behind step 7, and goes on to the same end.
  void expect_saved_beside(const std::string& run) {
    EXPECT_TRUE(fs::exists(dir_ / (run + "/checkpoints/step-00000010"))) << run;
    resume(run);
    EXPECT_EQ(end_of(run), end_of("whole"));
    EXPECT_FALSE(end_of(run).empty());
    const std::string metrics = content_of(dir_ / (run + "/metrics.jsonl"));
    EXPECT_EQ(std::ranges::count(metrics, '\n'),
              std::ranges::count(content_of(dir_ / "whole/metrics.jsonl"), '\n'));
  }

  TempDir dir_;
};

TEST_F(HeldFolder, ThatIsDeletedIsSavedBeside) {
  train("whole", [] {});
  for (const char* beside : {"gone-rescued", "gone-rescued-2"}) {
    expect_error(
        [&] { train("gone", [&] { fs::remove_all(dir_ / "gone"); }); },
        "/gone was deleted or replaced while it was trained; the run as it stands is saved "
        "in " +
            fs::canonical(dir_.path()).string() + "/" + beside + ": go on with --resume ");
    EXPECT_FALSE(fs::exists(dir_ / "gone"));
    expect_saved_beside(beside);
  }
}

TEST_F(HeldFolder, ThatIsReplacedIsSavedBesideAndTheOtherIsLeftAlone) {
  train("whole", [] {});
  const auto replace = [&] {
    fs::remove_all(dir_ / "mine");
    train("mine", [] {});
    dir_.write("mine/note", "of the second run");
  };
  expect_error([&] { train("mine", replace); }, "/mine-rescued");
  EXPECT_EQ(end_of("mine"), end_of("whole")) << "the second run, whole";
  EXPECT_FALSE(fs::exists(dir_ / "mine/checkpoints/step-00000005"))
      << "it keeps two checkpoints, 10 and 12";
  resume("mine");
  expect_saved_beside("mine-rescued");
}

TEST_F(HeldFolder, ThatIsMovedKeepsWhatItHasAlsoWhereAnotherTakesItsName) {
  train("whole", [] {});
  const auto move = [&] {
    fs::rename(dir_ / "old", dir_ / "new");
    train("old", [] {});
  };
  expect_error([&] { train("old", move); }, "/old-rescued");
  EXPECT_EQ(end_of("old"), end_of("whole")) << "the second run";
  EXPECT_FALSE(fs::exists(dir_ / "new/checkpoints/step-00000010"));
  resume("new");
  EXPECT_EQ(end_of("new"), end_of("whole"));
  expect_saved_beside("old-rescued");
}

TEST_F(HeldFolder, AResumedRunIsSavedBesideToo) {
  train("whole", [] {});
  StopAfter listener(3);
  run_training({.config_file = "",
                .overrides = tiny_settings({"run.dir=" + dir_.path(), "run.name=twice"}),
                .resume = ""},
               listener, listener.stop);
  expect_error([&] { resume("twice", [&] { fs::remove_all(dir_ / "twice"); }); }, "/twice-rescued");
  expect_saved_beside("twice-rescued");
}

// What deletes a folder takes its files one by one: a save can fail before the folder is gone.
TEST_F(HeldFolder, ThatIsBeingDeletedIsSavedBesideToo) {
  RunFolder folder = RunFolder::create(tiny_config({"run.dir=" + dir_.path(), "run.name=slow"}));
  folder.lock();
  folder.write("config.toml", "");
  std::thread deletes;
  std::vector<std::string> asked;
  const auto write = [&](RunFolder& place) {
    asked.push_back(place.name());
    if (place.name() == "slow") {
      deletes = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        fs::remove_all(dir_ / "slow");
      });
      fail("cannot write: No such file or directory");
    }
    return place.path();
  };
  expect_error([&] { folder.save_with(write); }, "/slow-rescued");
  deletes.join();
  EXPECT_EQ(asked, (std::vector<std::string>{"slow", "slow-rescued"}));
}

TEST_F(HeldFolder, WhereASaveFailsIsTriedOnceMore) {
  RunFolder folder = RunFolder::create(tiny_config({"run.dir=" + dir_.path(), "run.name=full"}));
  folder.lock();
  folder.write("config.toml", "");
  int calls = 0, failures = 1;
  const auto write = [&](RunFolder& place) {
    if (++calls <= failures) fail("no space, call {}", calls);
    return place.config_file();
  };
  EXPECT_EQ(folder.save_with(write), folder.config_file());
  EXPECT_EQ(calls, 2);
  calls = 0, failures = 9;
  expect_error([&] { folder.save_with(write); }, "no space, call 2");
  EXPECT_FALSE(fs::exists(dir_ / "full-rescued"));
}

TEST_F(HeldFolder, FollowsNoLinks) {
  train("whole", [] {});
  const std::string precious = dir_.write("precious", "do not touch");
  for (const char* name : {"config.toml.tmp", "facts.json.tmp", "metrics.jsonl.tmp"})
    fs::create_symlink(precious, dir_ / ("whole/" + std::string(name)));
  resume("whole");
  EXPECT_EQ(content_of(precious), "do not touch");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(dir_ / "whole/config.toml")));

  fs::remove(dir_ / "whole/metrics.jsonl");
  fs::create_symlink(precious, dir_ / "whole/metrics.jsonl");
  expect_error([&] { resume("whole"); }, "whole/metrics.jsonl");
  fs::remove(dir_ / "whole/metrics.jsonl");
  fs::rename(dir_ / "whole/checkpoints", dir_ / "elsewhere");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "whole/checkpoints");
  expect_error([&] { resume("whole"); },
               "whole/checkpoints is no folder, or a link to one, and links in a run's folder");
  EXPECT_EQ(content_of(precious), "do not touch");
}

TEST_F(HeldFolder, SaysWhereLocksDoNotWork) {
  RunFolder folder = RunFolder::create(tiny_config({"run.dir=" + dir_.path(), "run.name=nfs"}));
  const HeardWarnings heard;
  const auto fails_with = [](int error) {
    return [error](int, int) {
      errno = error;
      return -1;
    };
  };
  folder.lock(fails_with(ENOLCK));
  ASSERT_EQ(heard.lines.size(), 1u);
  EXPECT_TRUE(heard.lines[0].ends_with(
      "nfs cannot be locked (No locks available): see that no other process trains this run, for "
      "neither would notice"))
      << heard.lines[0];
  folder.lock(fails_with(EOPNOTSUPP));
  EXPECT_EQ(heard.lines.size(), 2u);
  expect_error([&] { folder.lock(fails_with(EIO)); }, "nfs: Input/output error");
  expect_error([&] { folder.lock(fails_with(EWOULDBLOCK)); },
               "is being trained by another process");
  EXPECT_EQ(heard.lines.size(), 2u);
}

}  // namespace
}  // namespace twill
