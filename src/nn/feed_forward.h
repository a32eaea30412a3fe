// SPDX-License-Identifier: Apache-2.0
// Two linear layers with an activation between them. A gated activation reads one fused matrix
// [value | gate] of twice the hidden width.
#pragma once

#include <string>

#include "nn/activation_selection.h"
#include "nn/linear.h"
#include "nn/residual_output.h"
#include "ops/layers/activation.h"

namespace twill {

class FeedForward {
 public:
  struct Options {
    std::int64_t width = 0;
    std::int64_t hidden = 0;
    Activation activation = Activation::kGelu;
    bool bias = true;
    double init_std = 0.02;
    double output_init_std = 0.02;
    double dropout = 0.0;
    std::uint64_t dropout_stream = 0;
  };
  FeedForward(Builder& builder, const std::string& name, Options options);

  // out = residual + ffn(x)
  void forward(const Pass& pass, ConstView x, ConstView residual, View out) const;
  // Where the sum of dout over all tokens belongs; see ResidualOutput.
  View dout_sum(const Pass& pass) const { return output_.dout_sum(pass); }
  // dx = gradient of x, given the gradient of out
  void backward(const Pass& pass, ConstView x, ConstView dout, View dx) const;

 private:
  // before_ and after_, the latter before anything is selected of it.
  void activate(const Pass& pass, ConstView x) const;
  // What backward() reads and forward() did not leave behind.
  void recompute(const Pass& pass, ConstView x) const;
  // Whether backward() takes the activation's gradient where the input matrix samples it, and not
  // behind the product that makes it.
  bool samples_with_activation(const Pass& pass) const;
  // Whether backward() finds the activation's slope in `before` instead of its argument.
  bool has_slope(const Pass& pass) const;
  // Whether backward() computes the activation once more, from its argument.
  bool activates_again() const {
    return recompute_.keeps_hidden() && !recompute_.keeps_activated();
  }

  Options options_;
  Recompute recompute_;
  FfnSeam& seam_;
  Linear input_;
  ResidualOutput output_;
  ActivationSelection selection_;
  View before_;  // (tokens, hidden or 2 hidden)
  View after_;   // (tokens, hidden)
  View dbefore_;
  View dafter_;
};

}  // namespace twill
