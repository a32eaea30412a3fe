// SPDX-License-Identifier: Apache-2.0
#include "nn/embedding.h"

#include "ops/layers/embedding.h"

namespace twill {

Embedding::Embedding(Builder& builder, const std::string& name, Options options)
    : options_(options),
      tokens_(builder.parameter(name + ".tokens.weight", {options.vocab, options.width},
                                Init::kNormal, options.init_std)),
      dropout_(options.dropout, options.dropout_stream) {
  if (options.positions > 0)
    positions_ = &builder.parameter(name + ".positions.weight", {options.positions, options.width},
                                    Init::kNormal, options.init_std);
}

void Embedding::forward(const Pass& pass, ConstView tokens, View out) const {
  embedding_forward(pass.context,
                    {.tokens = tokens,
                     .token_table = tokens_.operand,
                     .position_table = positions_ != nullptr ? positions_->operand : View(),
                     .out = out.reshaped({pass.batch, pass.time, options_.width}),
                     .first_position = pass.past});
  if (dropout_.active(pass)) dropout_.apply(pass, out, out);
}

void Embedding::backward(const Pass& pass, ConstView tokens, View gradient) const {
  if (dropout_.active(pass)) dropout_.apply(pass, gradient, gradient);
  embedding_backward(pass.context,
                     {.tokens = tokens,
                      .dout = gradient.reshaped({pass.batch, pass.time, options_.width}),
                      .dtoken_table = tokens_.gradient,
                      .dposition_table = positions_ != nullptr ? positions_->gradient : View()});
}

}  // namespace twill
