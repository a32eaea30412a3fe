// SPDX-License-Identifier: Apache-2.0
// y = x Wᵀ + b. The three products of a linear layer stand apart, because sparsity is a decision
// about each of them (docs/architecture.md): forward and dgrad contract with the weight, wgrad over
// tokens.
#pragma once

#include <optional>
#include <string>

#include "nn/builder.h"
#include "nn/pass.h"
#include "ops/layers/activation.h"
#include "ops/numbers/fp8.h"
#include "ops/packing/pack_sample.h"
#include "ops/products/product.h"
#include "ops/selection/mvue24.h"

namespace twill {

class Linear {
 public:
  struct Options {
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = true;
    double init_std = 0.02;
    LayerFamily family;                            // said by every layer: what recipes choose it by
    GroupAxis width_axis = GroupAxis::kWithinRow;  // see LinearSeam, and for these
    bool adds_residual = false;
    std::optional<Activation> activates = {};
    std::optional<Activation> activated = {};
    Parameter* shared = nullptr;  // another layer's, in place of a weight of its own
    std::int64_t piece = 0;       // tokens of a call at most; 0: those of the largest pass
    bool steered = true;          // false: no scratch for sparsity and number formats
  };
  Linear(Builder& builder, const std::string& name, Options options);

  // y (tokens, out) = x (tokens, in) Wᵀ + b [+ addend]
  void forward(const Pass& pass, ConstView x, View y, ConstView addend = {}) const;
  // The same with an activation behind it: before = x Wᵀ + b, y = f(before); y has half the columns
  // where f is gated. keeps_slope, where route().forward runs packed: before = f' of that instead
  // (ops/products/times_packed.h).
  void forward_activated(const Pass& pass, ConstView x, Activation f, View before, View y,
                         bool keeps_slope = false) const;
  // dx (tokens, in) = dy W
  void dgrad(const Pass& pass, ConstView dy, View dx) const;
  // The same through an activation in front: dbefore = (dy W) f'(before); keeps_slope, where route().dgrad
  // runs packed: (dy W) before
  void dgrad_activated(const Pass& pass, ConstView dy, Activation f, View before, View dbefore,
                       bool keeps_slope = false) const;
  const Route& route() const { return seam_.route; }
  // dW (+)= dyᵀ x, db (+)= Σ dy. The bias never sees a sample of dy.
  void wgrad(const Pass& pass, ConstView x, ConstView dy) const;
  // The same for the dy that an activation behind this layer has: dy = activation.dx, which is written.
  // Where packs_sample().
  void wgrad_through_activation(const Pass& pass, ConstView x,
                                const ActivationBackwardArgs& activation) const;
  // Whether the weight's gradient samples dy and packs the sample; then it can sum dy for the bias too.
  bool packs_sample(const Pass& pass) const;
  // wgrad() with another dy for the weight than for the bias.
  void weight_gradient(const Pass& pass, ConstView x, ConstView dy) const;
  void bias_gradient(const Pass& pass, ConstView dy) const;
  // Where bias_gradient() puts its sums, (out); absent without a bias.
  View bias_gradient_view() const { return bias_ != nullptr ? bias_->gradient : View(); }

 private:
  // The products with the weight, dense or without its zeros as the route says.
  Product forward_product(const Pass& pass, ConstView x, View y) const;
  Product dgrad_product(const Pass& pass, ConstView dy, View dx) const;
  // What stands for the weight in a product of so many tokens.
  Operand weight_side(const Pass& pass, const Form& form, const Operand& whole,
                      std::int64_t tokens) const;
  bool leaves_out(const Pass& pass, const Form& form) const {
    return pass.as_trained && form.leaves_out_activations(pass.tokens());
  }
  // Selected activations, or their transposed, without zeros.
  Operand packed_activations(const Pass& pass, ConstView a, double share, bool transpose) const;
  Product wgrad_of_activations(const Pass& pass, ConstView x, ConstView dy) const;
  MvueLaw law() const;
  // How dy is sampled and packed, and db (+)= Σ dy on the way, where asked.
  PackSampleArgs sampling(const Pass& pass, ConstView dy, bool with_bias) const;
  ConstView sample_of(const Pass& pass, ConstView dy) const;
  // dW (+)= sampleᵀ x without the sample's zeros.
  void times_packed_sample(const Pass& pass, ConstView x) const;
  PackedShape sample_shape(std::int64_t tokens) const;
  ProductLabel label(const char* product) const { return {.site = seam_.name, .product = product}; }
  // `x` itself, or its rounded copy in `scratch`.
  ConstView rounded(const Pass& pass, const Form& form, ConstView x, View scratch,
                    Fp8Format Rounding::*side) const;

  Parameter& weight_;  // (out, in)
  Parameter* bias_ = nullptr;
  LinearSeam& seam_;
  DType type_;               // of operands
  std::int64_t max_tokens_;  // of a call
  View sampled_;             // (tokens, out)
  View packed_sample_;       // storage of a packed (out, tokens)
  View packed_activations_;  // storage of a packed (tokens, hidden) or its transposed
  double most_kept_ = 0.0;   // Builder::Options::packed_activations
  View rounded_weight_;      // (out, in)
  View rounded_input_;       // (tokens, in)
  View rounded_output_;      // (tokens, out)
};

}  // namespace twill
