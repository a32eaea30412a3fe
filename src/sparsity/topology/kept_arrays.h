// SPDX-License-Identifier: Apache-2.0
// What a kept topology does between its updates: gradients and weights outside it are zero, and where
// the plan says so, only its entries have gradients and moments, in arrays of their own.
#pragma once

#include <cstdint>

#include "sparsity/weights/weight_steering.h"

namespace twill {

class KeptArrays {
 public:
  KeptArrays(const RunPosition& at, WeightSteering& weights) : at_(at), weights_(weights) {}

  // Begins and ends arrays for the step that follows; true where a layer's has changed. An update of
  // the topology (`moves`) needs the gradient of every weight, and moves moments.
  bool arrange(const Context& context, bool moves);
  void end(const Context& context);
  // The arrays are of another state than the one that has just been loaded.
  void forget();
  // Tells the parameters which entries stand for them.
  void write_entries() const;
  // The dense moments are up to date: before somebody else reads them.
  void write_moments(const Context& context) const;

  // Behind the backward passes: queued work alone.
  void hide_gradients(const Context& context) const;
  // Behind an update.
  void renew_weights(const Context& context) const;

 private:
  bool wants_arrays(const SparseLayer& layer, bool moves) const;

  const RunPosition& at_;
  WeightSteering& weights_;
};

}  // namespace twill
