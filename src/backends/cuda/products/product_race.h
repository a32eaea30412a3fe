// SPDX-License-Identifier: Apache-2.0
// The quickest of several ways to compute the same, by a stopwatch: everybody runs one round, the
// leaders run some more in turn. Knows no CUDA.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace twill::cuda {

// Seconds of one launch of a candidate, the mean over a round; infinity when a launch fails.
using TimeRound = std::function<double(std::size_t candidate)>;

class Race {
 public:
  explicit Race(TimeRound time);

  // Runs one round of the next candidate, counted from 0. The hopeless get no other.
  void enter();
  // The quickest so far; nullopt: none ran without failing.
  std::optional<std::size_t> leader() const;
  // Further rounds among the leaders, and the winner. A candidate that fails now is out as well.
  // The first to enter is the expected choice: another must take less than `clearly_better` of its
  // time, so that noise does not decide.
  std::optional<std::size_t> finish(double clearly_better);

 private:
  std::vector<std::size_t> finalists() const;

  TimeRound time_;
  std::vector<double> best_;  // of each candidate
};

// Whether two results of one product can both be right, whatever the order of their sums. Not a
// bound on rounding: it finds a kernel that left out a part of the work. Infinities and NaN must be
// the same on both sides.
bool agree(std::span<const float> one, std::span<const float> other);

}  // namespace twill::cuda
