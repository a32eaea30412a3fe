// SPDX-License-Identifier: Apache-2.0
#include "nn/block.h"

namespace twill {

Block::Block(Builder& builder, const std::string& name, const Options& options, const View& x)
    : x_(x),
      recompute_(builder.options().recompute),
      attention_norm_(builder, name + ".attention_norm", options.norm),
      attention_(builder, name + ".attention", options.attention),
      ffn_norm_(builder, name + ".ffn_norm", options.norm),
      ffn_(builder, name + ".ffn", options.ffn) {
  const Shape stream{builder.max_tokens(), options.norm.width};
  builder.activation("block.attention_in", attention_in_, stream, recompute_.keeps_normed());
  builder.activation("block.middle", middle_, stream, recompute_.keeps_inside());
  builder.activation("block.ffn_in", ffn_in_, stream, recompute_.keeps_normed());
  // In inference every block's output shares the memory of its input: middle stands between them,
  // so no product reads what it writes.
  builder.activation("stream", out_, stream);
  if (builder.options().training) builder.scratch("block.dnormed", dnormed_, stream);
}

void Block::forward(const Pass& pass) const {
  attention_norm_.forward(pass, pass.rows(x_), pass.rows(attention_in_));
  attention_.forward(pass, pass.rows(attention_in_), pass.rows(x_), pass.rows(middle_));
  ffn_norm_.forward(pass, pass.rows(middle_), pass.rows(ffn_in_));
  ffn_.forward(pass, pass.rows(ffn_in_), pass.rows(middle_), pass.rows(out_));
}

void Block::recompute(const Pass& pass) const {
  if (recompute_.keeps_normed()) return;
  attention_norm_.forward(pass, pass.rows(x_), pass.rows(attention_in_));
  if (!recompute_.keeps_inside())
    attention_.forward(pass, pass.rows(attention_in_), pass.rows(x_), pass.rows(middle_));
  ffn_norm_.forward(pass, pass.rows(middle_), pass.rows(ffn_in_));
}

void Block::backward(const Pass& pass, View gradient, View dx_sum) const {
  recompute(pass);
  ffn_.backward(pass, pass.rows(ffn_in_), gradient, pass.rows(dnormed_));
  ffn_norm_.backward(pass, pass.rows(middle_), pass.rows(dnormed_),
                     {.dx = gradient, .dx_sum = attention_.dout_sum(pass)});
  attention_.backward(pass, pass.rows(attention_in_), gradient, pass.rows(dnormed_));
  attention_norm_.backward(pass, pass.rows(x_), pass.rows(dnormed_),
                           {.dx = gradient, .dx_sum = dx_sum});
}

}  // namespace twill
