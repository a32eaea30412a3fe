// SPDX-License-Identifier: Apache-2.0
// STEP's criterion for the end of a phase: AdamW's second moments have settled.
#pragma once

#include <cstdint>
#include <vector>

#include "sparsity/engine/run_position.h"

namespace twill {

class MomentWatch {
 public:
  explicit MomentWatch(RunPosition& at) : at_(at) {}

  // Whether the change of the second moments should be measured in this phase.
  bool watches() const;
  void begin_phase() { changes_.clear(); }
  // The mean change over all elements in step `step`; `beta2` decides over how many steps it is
  // averaged. Ends the phase where that is small enough.
  void observe(std::int64_t step, double mean_change, double beta2);

  void save(StateTexts& texts) const { texts["moment_changes"] = text_of(changes_); }
  void restore(const StateTexts& texts) { changes_ = numbers_at(texts, "moment_changes"); }

 private:
  RunPosition& at_;
  std::vector<double> changes_;
};

}  // namespace twill
