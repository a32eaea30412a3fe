// SPDX-License-Identifier: Apache-2.0
// The seam where sparsity enters. A layer registers what can be steered with its Builder and reads it
// in every pass; whoever steers (sparsity/) fills it between passes. As built, everything is plain
// and dense. Layers know these parts, never a method's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/attention/attention_pattern.h"
#include "ops/context.h"
#include "ops/layers/activation.h"
#include "ops/packing/packed_matrix.h"
#include "ops/selection/groups24.h"
#include "ops/selection/kept.h"
#include "tensor/view.h"

namespace twill {

struct Parameter;

enum class LayerFamily : std::uint8_t { kAttention, kFfn, kHead };

// How dY enters the weight gradient.
enum class WgradSample : std::uint8_t { kDense, kMvue, kMvueTwoDraw };

// Number format of the three products, simulated (ops/numbers/fp8.h).
//   kReference  forward: both operands e4m3; dgrad and wgrad: both e5m2 (as S-STE ran it)
//   kMixed      weights and activations e4m3, gradients e5m2
enum class Fp8Mode : std::uint8_t { kNone, kReference, kMixed };

// A packed product is made for many tokens: on a CPU one token costs as much as 64 (0.44 of dense's
// speed at 2:4, even at about 20). Passes of fewer, as in decoding, take the dense operands.
constexpr std::int64_t kFewestPackedTokens = 32;

// Which products of an FFN's matrix leave the zeros of selected activations out, in passes that
// select any, and the share that is left of them; 0: the product takes them with their zeros. For the
// input matrix dY is what is selected, for the output matrix x. Zeros of the weight stay in such a
// product.
struct PackedActivations {
  double forward = 0.0;  // output matrix alone
  double dgrad = 0.0;    // input matrix alone
  double wgrad = 0.0;
};

// One weight matrix and its three products.
struct LinearSeam {
  std::string name;  // "blocks.0.ffn.input"
  LayerFamily family = LayerFamily::kFfn;
  Parameter* weight = nullptr;
  // The axis of the weight along which the model's width runs: rows of an input matrix, columns of
  // an output matrix.
  GroupAxis width_axis = GroupAxis::kWithinRow;
  std::uint32_t stream = 0;  // number of the layer, for random draws
  // What comes with its products.
  bool adds_bias = false;                    // forward
  bool sums_bias = false;                    // wgrad; for an output matrix the norm behind it does
  bool adds_residual = false;                // forward
  std::optional<Activation> activates = {};  // forward: f of its result
  std::optional<Activation> activated = {};  // dgrad: the gradient of a plain f that made its input

  ConstView forward = {};  // what the forward product multiplies with; absent: the weight
  ConstView dgrad = {};
  WgradSample wgrad = WgradSample::kDense;
  Fp8Mode fp8 = Fp8Mode::kNone;

  // The same weights without their zeros; absent: products take the operands above.
  PackedMatrix packed_forward = {};  // (out, in)
  PackedMatrix packed_dgrad = {};    // (in, out)
  // Where `forward` and `dgrad` have no memory of their own, or nobody else reads it: the place, often
  // shared with other layers, that a pass of too few tokens fills from packed_forward.
  View unpacked = {};
  // The sample of dY has its zeros left out of the product.
  bool packs_sample = false;
  PackedActivations packed_activations = {};
  // Where present, the gradient is computed for the kept entries alone, into an array of their
  // number; the weight's own gradient is then nobody's, or of the other layer that shares it.
  KeptPositions kept = {};
  View kept_gradient = {};
  bool shares_weight = false;  // another layer adds to the gradient of the same weight

  ConstView forward_operand() const;
  ConstView dgrad_operand() const;
};

// Whether the gradient of an FFN's activation is computed where its input matrix's sample is drawn. A gated
// one's is a kernel of its own in any case. A plain one's stays with dgrad where it costs nothing there
// (kGeluTanh's is an epilogue of the product; kRelu2's can be one, but a sample that comes with it spares a
// pass over it), or where nothing is gained here.
bool gradient_comes_with_sample(const Context& context, Activation activation);
// Whether an FFN whose products on both sides of its activation are packed keeps the activation's slope in
// place of its argument: kGeluTanh's takes two special functions a number, and forward has them already.
bool keeps_slope(const Context& context, Activation activation);

// In which order tokens stand beside each other when blocks of them are cut.
enum class TokenOrder : std::uint8_t {
  kAsIs,
  kFixed,     // one permutation for all steps
  kCentroid,  // sorted by the nearest centroid of the FFN's input
  kEnergy,    // sorted by the cluster with the largest activations
};

// The activations between the two matrices of an FFN. A selection 1:2:4 is plain 2:4.
struct FfnSeam {
  std::string name;  // "blocks.0.ffn"
  Activation activation = Activation::kGelu;
  std::int64_t width = 0, hidden = 0;

  bool selects = false;
  std::int64_t v = 1, m = 4;
  TokenOrder order = TokenOrder::kAsIs;
  // The weight gradients' operands are selected once more, along tokens; m = 0: not at all.
  std::int64_t transposed_v = 1, transposed_m = 0;

  ConstView fixed_order = {};    // (tokens) i32
  ConstView neuron_order = {};   // (hidden) i32, optional
  ConstView clusters = {};       // (hidden) i32
  ConstView centroids = {};      // (clusters, width)
  ConstView dense_neurons = {};  // (hidden) u8, optional: these are never selected away …
  bool dense_forward = true;     // … or only in the weight gradients

  // Filled in a training pass while `measures` is set.
  bool measures = false;
  View nonzero = {};          // (hidden) i32: tokens in which a neuron fired, before the selection
  View mass = {};             // (3) f64, see ops/selection/venom.h: the forward selection
  View transposed_mass = {};  // (6) f64: the same for the activations and for their gradients
  std::int64_t measured_tokens = 0;
};

struct AttentionSeam {
  std::string name;  // "blocks.0.attention"
  AttentionPattern pattern = AttentionPattern::kCausal;
  std::int64_t stride = 1;
};

}  // namespace twill
