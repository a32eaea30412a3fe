// SPDX-License-Identifier: Apache-2.0
// Sines and cosines of rotary embeddings. They cost as much as the turn itself ten times over, so a
// queue keeps them; they are allocated in the first step and never again.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace twill::cpu {

// cos and sin of t theta^(-2i/D), computed in f64 and rounded once.
struct RotaryTable {
  std::int64_t head_dim = 0;
  double theta = 0.0;
  std::int64_t num_positions = 0;
  std::vector<float> cosines;  // (num_positions, head_dim / 2)
  std::vector<float> sines;    // (num_positions, head_dim / 2)
};

class RotaryTables {
 public:
  // A table with at least `num_positions` positions.
  const RotaryTable& get(std::int64_t num_positions, std::int64_t head_dim, double theta);

 private:
  std::deque<RotaryTable> tables_;  // one per (head_dim, theta): a handful at most
};

}  // namespace twill::cpu
