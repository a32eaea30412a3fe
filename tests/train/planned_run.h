// SPDX-License-Identifier: Apache-2.0
// Runs whose plan the test decides: a cache of the test's own, and plans that need no measurement.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "io/config/toml_config.h"
#include "io/temp_dir.h"
#include "train/run/make_plan.h"
#include "train/stop_after.h"
#include "train/tiny_run.h"

namespace twill {

// Every kept thing of a run in this folder, for as long as it lives.
class OwnCache {
 public:
  explicit OwnCache(const std::string& folder) {
    if (const char* old = std::getenv(kName)) old_ = old;
    ::setenv(kName, folder.c_str(), /*overwrite=*/1);
  }
  ~OwnCache() { old_ ? ::setenv(kName, old_->c_str(), 1) : ::unsetenv(kName); }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;

 private:
  static constexpr const char* kName = "TWILL_CACHE";
  std::optional<std::string> old_;
};

// Warnings that would have gone to standard error.
class HeardWarnings {
 public:
  HeardWarnings()
      : old_(set_log_sink([this](LogLevel, std::string_view line) { lines.emplace_back(line); })) {}
  ~HeardWarnings() { set_log_sink(std::move(old_)); }
  HeardWarnings(const HeardWarnings&) = delete;
  HeardWarnings& operator=(const HeardWarnings&) = delete;
  std::vector<std::string> lines;

 private:
  LogSink old_;
};

inline std::string toml_of(Plan plan) { return write_toml(plan); }

// What a run was told about its plan.
struct PlanListener : StopAfter {
  using StopAfter::StopAfter;
  void on_planning(std::int64_t, std::int64_t) override { ++measured; }
  void on_plan(const Plan& plan) override { plan_text = toml_of(plan); }
  int measured = 0;  // shapes
  std::string plan_text;
};

// Of one block: two shapes of weights in scope, 64 x 16 and 16 x 64, one layer each.
inline std::vector<std::string> planned_settings(const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings =
      tiny_settings({"model.layers=1", "recipe=fst", "recipe.execution=fastest",
                     "recipe.phase.0.weights.refresh=4", "train.micro_batch=2"});
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

inline RunConfig planned_config(const std::vector<std::string>& more = {}) {
  return resolved(read_run_config("", planned_settings(more)), 256);
}

// As if measured: every layer on, with all products packed; or every layer off.
inline Plan auto_plan(bool is_on, const std::vector<std::string>& more = {}) {
  RunConfig config = planned_config(more);
  const Context context(cpu_table(), 1);
  config.recipe.execution = Execution::kPacked;
  Plan plan = make_plan(context, config);
  plan.execution = Execution::kFastest;
  for (PlanEntry& entry : plan.layer) {
    entry.on = is_on;
    entry.forward_below = entry.dgrad_below = entry.wgrad_below = 0.6;
  }
  return plan;
}

class PlannedRun : public testing::Test {
 protected:
  // Without a stop: to the end.
  Outcome start(const std::string& name, std::vector<std::string> more = {},
                std::int64_t stop_after = -1) {
    more.insert(more.end(), {"run.name=" + name, "run.dir=" + dir_.path()});
    return train({.config_file = "", .overrides = planned_settings(more), .resume = ""},
                 stop_after);
  }
  Outcome resume(const std::string& name) {
    return train({.config_file = "", .overrides = {"run.dir=" + dir_.path()}, .resume = name}, -1);
  }

  std::string write(const std::string& name, const Plan& plan) const {
    return dir_.write(name, toml_of(plan));
  }
  std::string plan_file(const std::string& run) const { return dir_ / (run + "/plan.toml"); }
  bool exists(const std::string& name) const { return std::filesystem::exists(dir_ / name); }
  // The kept plans.
  std::vector<std::string> cached() const {
    std::vector<std::string> paths;
    if (exists("cache/plans"))
      for (const auto& entry : std::filesystem::directory_iterator(dir_ / "cache/plans"))
        paths.push_back(entry.path().native());
    return paths;
  }

  TempDir dir_;
  OwnCache cache_{dir_ / "cache"};
  // Of the last run.
  int measured_ = 0;
  std::string plan_text_;

 private:
  Outcome train(const TrainRequest& request, std::int64_t stop_after) {
    PlanListener listener(stop_after);
    const Outcome outcome = run_training(request, listener, listener.stop);
    measured_ = listener.measured;
    plan_text_ = listener.plan_text;
    return outcome;
  }
};

}  // namespace twill
