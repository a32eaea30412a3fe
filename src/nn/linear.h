// SPDX-License-Identifier: Apache-2.0
// y = x Wᵀ + b. The three products of a linear layer stand apart, because sparsity is a decision
// about each of them (docs/architecture.md): forward and dgrad contract with the weight, wgrad over
// tokens.
#pragma once

#include <string>

#include "nn/builder.h"
#include "nn/pass.h"

namespace twill {

class Linear {
 public:
  struct Options {
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = true;
    double init_std = 0.02;
  };
  Linear(Builder& builder, const std::string& name, Options options);

  // y (tokens, out) = x (tokens, in) Wᵀ + b [+ addend]
  void forward(const Pass& pass, ConstView x, View y, ConstView addend = {}) const;
  // dx (tokens, in) = dy W
  void dgrad(const Pass& pass, ConstView dy, View dx) const;
  // dW (+)= dyᵀ x, db (+)= Σ dy
  void wgrad(const Pass& pass, ConstView x, ConstView dy) const;

 private:
  Parameter& weight_;  // (out, in)
  Parameter* bias_ = nullptr;
};

}  // namespace twill
