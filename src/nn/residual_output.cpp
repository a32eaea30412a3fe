// SPDX-License-Identifier: Apache-2.0
#include "nn/residual_output.h"

namespace twill {
namespace {

Linear::Options with_residual(const ResidualOutput::Options& options) {
  Linear::Options linear = options.linear;
  linear.adds_residual = options.dropout == 0.0;
  return linear;
}

}  // namespace

ResidualOutput::ResidualOutput(Builder& builder, const std::string& name, const Options& options)
    : linear_(builder, name, with_residual(options)),
      dropout_(options.dropout, options.dropout_stream) {
  if (options.dropout > 0.0)
    builder.scratch("branch", branch_, {builder.max_tokens(), options.linear.out});
}

void ResidualOutput::forward(const Pass& pass, ConstView x, ConstView residual, View out) const {
  if (!dropout_.active(pass)) {
    linear_.forward(pass, x, out, residual);
    return;
  }
  linear_.forward(pass, x, pass.rows(branch_));
  dropout_.apply(pass, pass.rows(branch_), out, residual);
}

ConstView ResidualOutput::through_dropout(const Pass& pass, ConstView dout) const {
  if (!dropout_.active(pass)) return dout;
  dropout_.apply(pass, dout, pass.rows(branch_));
  return pass.rows(branch_);
}

View ResidualOutput::dout_sum(const Pass& pass) const {
  return dropout_.active(pass) ? View() : linear_.bias_gradient_view();
}

void ResidualOutput::wgrad(const Pass& pass, ConstView x, ConstView dy) const {
  linear_.weight_gradient(pass, x, dy);
  if (dropout_.active(pass)) linear_.bias_gradient(pass, dy);
}

void ResidualOutput::backward(const Pass& pass, ConstView x, ConstView dout, View dx,
                              ConstView x_of_weight) const {
  const ConstView dy = through_dropout(pass, dout);
  wgrad(pass, x_of_weight ? x_of_weight : x, dy);
  linear_.dgrad(pass, dy, dx);
}

void ResidualOutput::backward_activated(const Pass& pass, ConstView x, ConstView dout, Activation f,
                                        View before, View dbefore, ConstView x_of_weight,
                                        bool keeps_slope) const {
  const ConstView dy = through_dropout(pass, dout);
  wgrad(pass, x_of_weight ? x_of_weight : x, dy);
  linear_.dgrad_activated(pass, dy, f, before, dbefore, keeps_slope);
}

}  // namespace twill
