// SPDX-License-Identifier: Apache-2.0
// What `twill eval` shows and writes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "eval/run_task.h"
#include "eval/text_loss.h"

namespace twill::cli {

// One text, by the name the user gave it.
struct NamedTextLoss {
  std::string file;
  TextLoss loss;
};

struct EvalReport {
  std::string model;
  std::vector<NamedTextLoss> texts = {};
  std::vector<TaskResult> tasks = {};
};

// A table: what, how many, which number, its value and its standard error.
std::string table_of(const EvalReport& report);
// {"model": …, "texts": […], "tasks": […]}, without single examples.
std::string json_of(const EvalReport& report);
// JSON Lines, one per example: its task, line, log-likelihoods, greediness, choices and label.
std::string details_of(const EvalReport& report);

// One moving line on a terminal: name, share done, time left. Nothing elsewhere.
class EvalProgressLine {
 public:
  EvalProgressLine();
  ~EvalProgressLine();
  EvalProgressLine(const EvalProgressLine&) = delete;
  EvalProgressLine& operator=(const EvalProgressLine&) = delete;

  // The callback for one piece of work.
  EvalProgress of(std::string name);

 private:
  void show(const std::string& name, double share);

  bool terminal_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace twill::cli
