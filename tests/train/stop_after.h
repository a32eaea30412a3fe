// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "train/run/training_run.h"

namespace twill {

// Sets the stop flag after a number of steps, as Ctrl-C would.
class StopAfter : public TrainingListener {
 public:
  explicit StopAfter(std::int64_t step) : step_(step) {}
  void on_step(const StepResult& result, const StepShares&) override {
    if (result.step == step_) stop = true;
  }
  std::atomic<bool> stop{false};

 private:
  std::int64_t step_;
};

}  // namespace twill
