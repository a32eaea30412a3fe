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
#include "ops/products/gemm.h"
#include "ops/selection/mvue24.h"

namespace twill {

class Linear {
 public:
  struct Options {
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = true;
    double init_std = 0.02;
    LayerFamily family = LayerFamily::kFfn;
    GroupAxis width_axis = GroupAxis::kWithinRow;  // see LinearSeam, and for these
    bool adds_residual = false;
    std::optional<Activation> activates = {};
    std::optional<Activation> activated = {};
  };
  Linear(Builder& builder, const std::string& name, Options options);

  // y (tokens, out) = x (tokens, in) Wᵀ + b [+ addend]
  void forward(const Pass& pass, ConstView x, View y, ConstView addend = {}) const;
  // The same with an activation behind it: before = x Wᵀ + b, y = f(before); y has half the columns
  // where f is gated. keeps_slope, where packs_forward(): before = f' of that instead (ops/products/times_packed.h)
  void forward_activated(const Pass& pass, ConstView x, Activation f, View before, View y,
                         bool keeps_slope = false) const;
  // dx (tokens, in) = dy W
  void dgrad(const Pass& pass, ConstView dy, View dx) const;
  // The same through an activation in front: dbefore = (dy W) f'(before); keeps_slope, where packs_dgrad():
  // (dy W) before
  void dgrad_activated(const Pass& pass, ConstView dy, Activation f, View before, View dbefore,
                       bool keeps_slope = false) const;
  // Whether these are products with packed weights.
  bool packs_forward(const Pass& pass) const {
    return runs_packed(seam_.packed_forward, pass.tokens());
  }
  bool packs_dgrad(const Pass& pass) const {
    return runs_packed(seam_.packed_dgrad, pass.tokens());
  }
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
  GemmArgs forward_product(const Pass& pass, ConstView x, View y) const;
  GemmArgs dgrad_product(const Pass& pass, ConstView dy, View dx) const;
  static bool runs_packed(const PackedMatrix& packed, std::int64_t tokens) {
    return packed && tokens >= kFewestPackedTokens;
  }
  // The product as it stands, or with the packed form of its b.
  void run(const Pass& pass, const GemmArgs& product, const PackedMatrix& packed,
           bool keeps_slope = false) const;
  // Whether the product with this share of activations leaves their zeros out.
  bool leaves_out(const Pass& pass, double share) const {
    return share > 0.0 && pass.as_trained && !rounds(pass) && pass.tokens() >= kFewestPackedTokens;
  }
  // Selected activations, or their transposed, without zeros.
  PackedMatrix packed_activations(const Pass& pass, ConstView a, double share,
                                  bool transpose) const;
  void wgrad_of_activations(const Pass& pass, ConstView x, ConstView dy) const;
  MvueLaw law() const;
  // How dy is sampled and packed, and db (+)= Σ dy on the way, where asked.
  PackSampleArgs sampling(const Pass& pass, ConstView dy, bool with_bias) const;
  // dW (+)= sampleᵀ x without the sample's zeros.
  void times_packed_sample(const Pass& pass, ConstView x) const;
  PackedShape sample_shape(std::int64_t tokens) const;
  // `x` itself, or its rounded copy in `scratch`.
  ConstView rounded(const Pass& pass, ConstView x, View scratch, Fp8Format format) const;
  bool rounds(const Pass& pass) const { return pass.as_trained && seam_.fp8 != Fp8Mode::kNone; }
  // Of operands other than a gradient, in the backward products.
  Fp8Format backward_format() const;

  Parameter& weight_;  // (out, in)
  Parameter* bias_ = nullptr;
  LinearSeam& seam_;
  DType type_;               // of operands
  View sampled_;             // (tokens, out)
  View packed_sample_;       // storage of a packed (out, tokens)
  View packed_activations_;  // storage of a packed (tokens, hidden) or its transposed
  double most_kept_ = 0.0;   // Builder::Options::packed_activations
  View rounded_weight_;      // (out, in)
  View rounded_input_;       // (tokens, in)
  View rounded_output_;      // (tokens, out)
};

}  // namespace twill
