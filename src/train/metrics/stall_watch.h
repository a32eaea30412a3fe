// SPDX-License-Identifier: Apache-2.0
// Notices a run whose training loss has stopped to fall: a mask that froze too early, a learning rate
// that is too low, a plateau that a seed does not leave.
//
// The median loss of the last window is compared with that of the window two before it. A stall is a
// fall of less than half a standard error of that difference; the noise of a single loss comes from
// the differences of neighbours, so that a trend does not count as noise. Judged at every multiple of
// the window, told once in a phase. A phase begins anew: a recipe that turns sparse raises the loss.
//
// Not judged below 0.3 of the peak learning rate: there good runs fall slowly too. Of 16 runs of four
// recipes on the built-in corpus the smallest fall was 2.5 errors above that rate, and 0.8 below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

struct Stall {
  std::int64_t step = 0;
  std::int64_t window = 0;  // steps
  double before = 0.0;      // median losses
  double now = 0.0;

  std::string text() const;
};

class StallWatch {
 public:
  struct Options {
    std::int64_t window = 0;        // steps; 0 watches nothing
    std::int64_t warmup_steps = 0;  // do not count
    double peak_lr = 0.0;
  };
  explicit StallWatch(const Options& options) : options_(options) {}

  // The window of a run where none is given: a tenth of its steps, at least 50.
  static std::int64_t window_of(std::int64_t steps);

  // Steps in ascending order, counted from 1. Losses that are not finite do not count.
  std::optional<Stall> observe(std::int64_t step, std::int64_t phase, double loss, double lr);

  // Sees again what a resumed run has written into its metrics (JSON Lines): afterwards the watch
  // stands where it stood then.
  void replay(std::string_view metrics);

 private:
  std::optional<Stall> judge(std::int64_t step) const;

  Options options_;
  std::int64_t phase_ = -1;
  std::int64_t told_phase_ = -2;
  std::vector<double> losses_;  // of this phase, the last three windows
};

}  // namespace twill
