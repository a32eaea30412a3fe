// SPDX-License-Identifier: Apache-2.0
// The seam where sparsity enters. A layer registers what it is and what can be steered of it with its
// Builder, and reads the latter in every pass; whoever steers (sparsity/) fills it between passes. As built,
// everything is plain and dense. Layers know these parts, never a method's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nn/route.h"
#include "ops/attention/attention_pattern.h"
#include "ops/context.h"
#include "ops/layers/activation.h"
#include "ops/selection/groups24.h"
#include "tensor/view.h"

namespace twill {

struct Parameter;

// What recipes call a layer by (sparsity/recipe/scope.h). kOther: none of the three, as a projection of
// patches.
enum class LayerFamily : std::uint8_t { kOther, kAttention, kFfn, kHead };

// One weight matrix: what the layer is, and how its three products run.
struct LinearSeam {
  std::string name;  // "blocks.0.ffn.input"
  LayerFamily family = LayerFamily::kOther;
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
  bool shares_weight = false;  // another layer adds to the gradient of the same weight
  std::int64_t piece = 0;      // tokens of a product at most; 0: all of a pass

  Route route = {};

  // What stands for the weight, (out, in), where nothing is packed.
  Operand forward_operand() const;
  Operand dgrad_operand() const;
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
  std::string name;                                    // "blocks.0.attention"
  AttentionPattern plain = AttentionPattern::kCausal;  // what a token sees as built
  AttentionPattern pattern = AttentionPattern::kCausal;
  std::int64_t stride = 1;
};

}  // namespace twill
