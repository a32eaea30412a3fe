// SPDX-License-Identifier: Apache-2.0
#include "sparsity/recipe/phase_clock.h"

#include <algorithm>

#include "base/require.h"

namespace twill {

PhaseClock::PhaseClock(const RecipeConfig& recipe, const RunLength& length) {
  for (const PhaseConfig& phase : recipe.phase) ends_.push_back(phase_end(phase.until, length));
}

bool PhaseClock::advance_to(std::int64_t step) {
  const std::int64_t before = index_;
  if (index_ < 0) index_ = 0;
  while (index_ + 1 < num_phases() && step >= end()) {
    begin_ = end();
    early_end_ = -1;
    ++index_;
  }
  return index_ != before;
}

void PhaseClock::end_early(std::int64_t step) {
  if (index_ + 1 >= num_phases()) return;
  // The next phase is entered by the next advance_to().
  ends_[static_cast<std::size_t>(index_)] = early_end_ = step;
}

std::int64_t PhaseClock::phase_at(std::int64_t step) const {
  std::int64_t phase = 0;
  while (phase + 1 < num_phases() && step >= end_of(phase)) ++phase;
  return phase;
}

std::int64_t PhaseClock::begin_of(std::int64_t phase) const {
  if (phase == index_) return begin_;
  return phase > 0 ? end_of(phase - 1) : 0;
}

void PhaseClock::restore(std::int64_t index, std::int64_t begin, std::int64_t early_end) {
  require(index >= -1 && index < num_phases(), "phase {} is not one of the recipe's {}", index,
          num_phases());
  index_ = index;
  begin_ = begin;
  early_end_ = early_end;
  // Earlier phases ended where this one began, early or in a run of another length.
  for (std::int64_t i = 0; i < index; ++i) {
    std::int64_t& end = ends_[static_cast<std::size_t>(i)];
    end = i + 1 == index ? begin : std::min(end, begin);
  }
  if (index >= 0 && early_end >= 0) ends_[static_cast<std::size_t>(index)] = early_end;
}

}  // namespace twill
