// SPDX-License-Identifier: Apache-2.0
#include "nn/feed_forward.h"

namespace twill {
namespace {

std::int64_t input_width(const FeedForward::Options& options) {
  return options.hidden * (is_gated(options.activation) ? 2 : 1);
}

}  // namespace

FeedForward::FeedForward(Builder& builder, const std::string& name, Options options)
    : options_(options),
      input_(builder, name + ".input",
             {.in = options.width,
              .out = input_width(options),
              .bias = options.bias,
              .init_std = options.init_std}),
      output_(builder, name + ".output",
              {.linear = {.in = options.hidden,
                          .out = options.width,
                          .bias = options.bias,
                          .init_std = options.output_init_std},
               .dropout = options.dropout,
               .dropout_stream = options.dropout_stream}) {
  const Shape wide{builder.max_tokens(), input_width(options)};
  const Shape hidden{builder.max_tokens(), options.hidden};
  builder.activation("ffn.before", before_, wide);
  builder.activation("ffn.after", after_, hidden);
  if (!builder.options().training) return;
  builder.scratch("ffn.dbefore", dbefore_, wide);
  builder.scratch("ffn.dafter", dafter_, hidden);
}

void FeedForward::forward(const Pass& pass, ConstView x, ConstView residual, View out) const {
  input_.forward(pass, x, pass.rows(before_));
  activation_forward(
      pass.context, {.kind = options_.activation, .x = pass.rows(before_), .y = pass.rows(after_)});
  output_.forward(pass, pass.rows(after_), residual, out);
}

void FeedForward::backward(const Pass& pass, ConstView x, ConstView dout, View dx) const {
  output_.backward(pass, pass.rows(after_), dout, pass.rows(dafter_));
  activation_backward(pass.context, {.kind = options_.activation,
                                     .x = pass.rows(before_),
                                     .dy = pass.rows(dafter_),
                                     .dx = pass.rows(dbefore_)});
  input_.wgrad(pass, x, pass.rows(dbefore_));
  input_.dgrad(pass, pass.rows(dbefore_), dx);
}

}  // namespace twill
