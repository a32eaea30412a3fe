// SPDX-License-Identifier: Apache-2.0
// What a sparse FFN can gain, from the gains of its kernels: projections, never measurements.
//
// Of the six products of a two-matrix FFN, two have 2:4 weights and four have V:2:M activations.
#pragma once

namespace twill {

// Gain of the FFN: gain24 of the two weight products, gain_venom of the four others.
constexpr double ffn_gain(double gain24, double gain_venom) {
  return 6.0 / (2.0 / gain24 + 4.0 / gain_venom);
}

// Gain of a whole step of which `ffn_share` is spent in the dense FFN.
constexpr double step_gain(double ffn_share, double gain_of_ffn) {
  return 1.0 / (1.0 - ffn_share + ffn_share / gain_of_ffn);
}

// Gain of a run: sparse steps at `gain_of_step`, dense ones at 1.
constexpr double schedule_gain(double sparse_steps, double dense_steps, double gain_of_step) {
  return (sparse_steps + dense_steps) / (sparse_steps / gain_of_step + dense_steps);
}

// FLOPs of a sparse FFN step relative to dense. m = 4 is plain 2:4.
constexpr double ffn_flop_share(double m) { return (2.0 * 0.5 + 4.0 * (2.0 / m)) / 6.0; }

}  // namespace twill
