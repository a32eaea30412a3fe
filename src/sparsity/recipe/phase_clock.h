// SPDX-License-Identifier: Apache-2.0
// Which phase a step belongs to. A phase may end early; from then on the index is state.
#pragma once

#include <cstdint>
#include <vector>

#include "sparsity/recipe/recipe.h"

namespace twill {

class PhaseClock {
 public:
  PhaseClock(const RecipeConfig& recipe, const RunLength& length);

  // Moves on to the phase of `step`; true when it is another one than before.
  bool advance_to(std::int64_t step);
  // The current phase ends: `step` is the first of the next one.
  void end_early(std::int64_t step);

  std::int64_t index() const { return index_; }
  std::int64_t begin() const { return begin_; }  // first step of the current phase
  std::int64_t end() const { return index_ < 0 ? 0 : end_of(index_); }
  std::int64_t num_phases() const { return static_cast<std::int64_t>(ends_.size()); }
  // The phase that `step`, past or to come, belongs to if no other ends early.
  std::int64_t phase_at(std::int64_t step) const;
  std::int64_t begin_of(std::int64_t phase) const;
  std::int64_t end_of(std::int64_t phase) const { return ends_[static_cast<std::size_t>(phase)]; }

  // Where end_early() has put the end of the current phase; -1: nowhere.
  std::int64_t early_end() const { return early_end_; }
  // What index(), begin() and early_end() were. Other ends follow the run's length of now.
  void restore(std::int64_t index, std::int64_t begin, std::int64_t early_end);

 private:
  std::vector<std::int64_t> ends_;
  std::int64_t index_ = -1;  // before the first step
  std::int64_t begin_ = 0;
  std::int64_t early_end_ = -1;
};

}  // namespace twill
