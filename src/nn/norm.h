// SPDX-License-Identifier: Apache-2.0
// Normalisation in front of a sub-layer: LayerNorm (GPT-2) or RMSNorm (LLaMA).
#pragma once

#include <string>

#include "nn/builder.h"
#include "nn/pass.h"

namespace twill {

enum class NormKind { kLayer, kRms };

class Norm {
 public:
  struct Options {
    NormKind kind = NormKind::kLayer;
    std::int64_t width = 0;
    bool bias = true;  // LayerNorm only
    double eps = 1e-5;
  };
  Norm(Builder& builder, const std::string& name, Options options);

  void forward(const Pass& pass, ConstView x, View y) const;

  struct Gradient {
    View dx;
    // The residual stream's gradient is already in dx: add to it.
    bool adds_to_dx = true;
    // (width), optional: the sum of dx over all tokens, which is the gradient of the bias that was
    // added to x last. Overwritten or added to, as the pass says.
    View dx_sum = {};
  };
  void backward(const Pass& pass, ConstView x, ConstView dy, const Gradient& gradient) const;

 private:
  Options options_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
  View mean_;  // (tokens)
  View rstd_;  // (tokens)
};

}  // namespace twill
