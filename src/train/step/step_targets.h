// SPDX-License-Identifier: Apache-2.0
// How many targets a step has. Its loss is one mean over all of them: micro-batches that have few, as
// those of short sequences or of a masked language model, must not count as much as those that have many.
// So all are counted before the first pass, on the device, and no pass waits for the number.
#pragma once

#include <cstdint>

#include "models/model.h"
#include "train/step/reducer.h"

namespace twill {

class StepTargets {
 public:
  // Of a step of so many passes in all processes together; `reducer` may be nullptr. Behind the builder's
  // commit(): the numbers lie in the model's memory.
  StepTargets(const Context& context, const Model& model, std::int64_t passes, Reducer* reducer);

  // Whether a pass may have another number than the step's mean: alone, it has all of them.
  bool counts() const { return passes_ > 1; }
  // Adds those that the model has loaded.
  void add(const Pass& pass, bool is_first) const;
  // Behind all of them, in front of the passes.
  void finish(const Context& context) const;

  // What a pass is of the step's loss. The count is the passes' mean, so that equal numbers give the bits
  // of a mean of means.
  LossScale scale() const;

 private:
  const Model& model_;
  std::int64_t passes_;
  Reducer* reducer_;
  View sum_;       // (1) f64
  View divisor_;   // (1) f64: number of passes
  View per_pass_;  // (1) f64
};

}  // namespace twill
