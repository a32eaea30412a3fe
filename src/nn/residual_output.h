// SPDX-License-Identifier: Apache-2.0
// The end of a branch: a linear layer and dropout, added to the residual stream. Without dropout the
// product adds the residual itself, and nothing else is computed.
#pragma once

#include <string>

#include "nn/dropout.h"
#include "nn/linear.h"

namespace twill {

class ResidualOutput {
 public:
  struct Options {
    Linear::Options linear;
    double dropout = 0.0;
    std::uint64_t dropout_stream = 0;
  };
  ResidualOutput(Builder& builder, const std::string& name, const Options& options);

  // out = residual + dropout(linear(x))
  void forward(const Pass& pass, ConstView x, ConstView residual, View out) const;
  // Where the sum of dout over all tokens belongs, (out): it is the gradient of the bias, and whoever
  // computes dout adds it up on the way (Norm::Gradient::dx_sum). Absent when there is no bias, or
  // dropout in between: backward() then sees to the bias itself.
  View dout_sum(const Pass& pass) const;

  // dx = gradient of x, given the gradient of out; the residual's gradient stays with the caller.
  // `x_of_weight`, if given, stands for x in the weight's gradient.
  void backward(const Pass& pass, ConstView x, ConstView dout, View dx,
                ConstView x_of_weight = {}) const;
  // The same through the activation f that made x of `before`: dbefore instead of dx.
  // `keeps_slope`: before holds the slope of f.
  void backward_activated(const Pass& pass, ConstView x, ConstView dout, Activation f, View before,
                          View dbefore, ConstView x_of_weight = {}, bool keeps_slope = false) const;
  const Route& route() const { return linear_.route(); }

 private:
  // The gradient of the linear layer's output.
  ConstView through_dropout(const Pass& pass, ConstView dout) const;
  void wgrad(const Pass& pass, ConstView x, ConstView dy) const;

  Linear linear_;
  Dropout dropout_;
  View branch_;  // (tokens, out), only with dropout
};

}  // namespace twill
