// SPDX-License-Identifier: Apache-2.0
// How the three products of one linear layer run. As built, everything is plain and dense; whoever steers
// (sparsity/) writes it between passes, the layer reads it in every pass, and nobody else asks.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/numbers/fp8.h"
#include "ops/products/operand.h"
#include "ops/selection/kept.h"
#include "tensor/view.h"

namespace twill {

// How dY enters the weight gradient.
enum class WgradSample : std::uint8_t { kDense, kMvue, kMvueTwoDraw };

// Number format of the three products, simulated (ops/numbers/fp8.h).
//   kReference  forward: both operands e4m3; dgrad and wgrad: both e5m2 (as S-STE ran it)
//   kMixed      weights and activations e4m3, gradients e5m2
enum class Fp8Mode : std::uint8_t { kNone, kReference, kMixed };

// What both operands of a product are rounded to before it, in passes as_trained.
struct Rounding {
  Fp8Format left;   // x, or dY
  Fp8Format right;  // the weight; of wgrad x
};

// A packed product is made for many tokens: on a CPU one token costs as much as 64 (0.44 of dense's
// speed at 2:4, even at about 20). Products of fewer, as in decoding, take the dense operands.
constexpr std::int64_t kFewestPackedTokens = 32;

// One product. Fields that belong to the weight are read forward and in dgrad, those of a gradient in wgrad.
struct Form {
  Operand operand = {};  // in place of the weight, (out, in); absent: the weight
  Operand packed = {};   // the same without its zeros, (out, in) forward, (in, out) in dgrad
  WgradSample sample = WgradSample::kDense;
  bool packs_sample = false;  // the sample of dY has its zeros left out
  // Where present, the gradient is computed for the kept entries alone, into an array of their number; the
  // weight's own gradient is then nobody's, or of the other layer that shares it.
  KeptPositions kept = {};
  View kept_gradient = {};
  // Of an FFN's matrix: the share that is left of selected activations whose zeros the product leaves out,
  // in passes that select any; 0: it takes them with their zeros. For the input matrix dY is what is
  // selected (dgrad, wgrad), for the output matrix x (forward, wgrad). Zeros of the weight stay in it.
  double activations = 0.0;
  std::optional<Rounding> rounding = {};

  // Whether the product with the weight runs without its zeros, whether the one with activations without
  // theirs, in a pass as_trained.
  bool runs_packed(std::int64_t tokens) const { return packed && tokens >= kFewestPackedTokens; }
  bool leaves_out_activations(std::int64_t tokens) const {
    return activations > 0.0 && !rounding && tokens >= kFewestPackedTokens;
  }
};

struct Route {
  Form forward, dgrad, wgrad;
  // Where the operands of forward and dgrad have no memory of their own, or nobody else reads it: the place,
  // often shared with other layers, that a product of too few tokens fills from forward.packed.
  View unpacked = {};

  // No operand, packed or not, in place of the weight.
  bool takes_weight() const { return !forward.operand && !dgrad.operand; }
  void drop_packed() { forward.packed = dgrad.packed = {}; }
  void drop_activations() { forward.activations = dgrad.activations = wgrad.activations = 0.0; }
  bool rounds() const { return forward.rounding.has_value(); }
  void set_rounding(Fp8Mode mode);
};

}  // namespace twill
