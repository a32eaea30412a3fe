// SPDX-License-Identifier: Apache-2.0
// What sparsity does to a run, in numbers: sampled every few steps, judged by two alarms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace twill {

struct LayerHealth {
  std::string name;
  double flip_rate = 0.0;           // share of mask bits that this one step changes
  double interval_flip_rate = 0.0;  // share that the last refresh (or topology update) changed
  double kept_l1 = 1.0;             // of the weights' L1
  double kept_energy = 1.0;         // of their squares
  double density = 1.0;
  double beta = 1.0;  // scale of a soft projection
};

struct FfnHealth {
  std::string name;
  double activation_density = 1.0;  // non-zero activations before any selection
  double dead_neurons = 0.0;        // share that fired for no token of the micro-batch
  // Shares of the activations' L1, those of neurons that stay dense counted as if they were selected
  // too: lost by choosing columns, by two per row, and (of what was left)
  // along tokens, for the activations and for their gradients.
  double dropped_columns = 0.0;
  double dropped_rows = 0.0;
  double dropped_transposed = 0.0;
  double dropped_gradient = 0.0;
};

struct HealthSample {
  std::int64_t step = 0;  // the step it belongs to, counted from 1
  bool has_mask = false;  // a mask, real or virtual, was compared
  bool is_topology = false;
  LayerHealth overall;  // weighted by the number of weights
  std::vector<LayerHealth> layers;
  std::vector<FfnHealth> ffns;
  FfnHealth overall_ffn;  // their mean
  std::string alarm;      // empty: all is well
};

// Watches the flip rate over one phase.
//   explosion  behind the first tenth of the phase, three samples each above the one before, and the
//              last above twice the highest of that tenth; the first sample counts as one of it
//   collapse   no flips at all between the first tenth and half of the phase: before, a learning rate
//              that still warms up may move nothing
// Each is told once per phase.
class FlipAlarm {
 public:
  void begin_phase(std::int64_t begin, std::int64_t end);
  // A sentence for the user, or empty.
  std::string observe(std::int64_t step, double flip_rate);

  // For checkpoints: everything it has seen, as text, and back.
  std::string save() const;
  void restore(const std::string& text);

 private:
  std::int64_t begin_ = 0, end_ = 0;
  double early_peak_ = 0.0;
  double last_ = 0.0;
  std::int64_t rises_ = 0;
  bool has_last_ = false, told_explosion_ = false, told_collapse_ = false;
};

}  // namespace twill
