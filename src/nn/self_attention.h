// SPDX-License-Identifier: Apache-2.0
// Self-attention: one fused qkv matrix, optional rotary positions, output projection onto the
// residual stream. Grouped queries when kv_heads < heads. Causal, unless the options say otherwise:
// only a causal layer has a cache, and only there a recipe's pattern (nn/seam.h) hides pairs.
#pragma once

#include <string>

#include "nn/linear.h"
#include "nn/residual_output.h"
#include "ops/attention/attention_pattern.h"

namespace twill {

class SelfAttention {
 public:
  struct Options {
    std::int64_t width = 0;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 1;
    std::int64_t head_dim = 0;
    bool bias = true;
    double rotary_theta = 0.0;  // 0: no rotary positions
    AttentionMask mask = {};    // what a token sees in a plain pass; an encoder's: kFull
    double init_std = 0.02;
    double output_init_std = 0.02;
    double dropout = 0.0;
    std::uint64_t dropout_stream = 0;
  };
  SelfAttention(Builder& builder, const std::string& name, Options options);

  // out = residual + attention(x)
  void forward(const Pass& pass, ConstView x, ConstView residual, View out) const;
  // Where the sum of dout over all tokens belongs; see ResidualOutput.
  View dout_sum(const Pass& pass) const { return output_.dout_sum(pass); }
  // dx = gradient of x, given the gradient of out
  void backward(const Pass& pass, ConstView x, ConstView dout, View dx) const;

 private:
  View heads_view(const Pass& pass, View buffer, std::int64_t heads) const;
  double scale() const;
  // context_ from qkv_out_: among the tokens of the pass, or over the cache.
  void attend(const Pass& pass) const;
  void attend_over_cache(const Pass& pass, bool store_only) const;

  AttentionMask mask(const Pass& pass) const;

  Options options_;
  std::int64_t qkv_heads_;
  AttentionSeam& seam_;
  Linear qkv_;
  ResidualOutput output_;
  View qkv_out_;  // (tokens, qkv_heads D), rotated
  View context_;  // (tokens, heads D)
  View lse_;      // (batch heads time)
  View dqkv_;
  View dcontext_;
  View workspace_;
  View keys_;    // (max_time, kv_heads, D), rotated; only when decoding
  View values_;  // (max_time, kv_heads, D)
};

}  // namespace twill
