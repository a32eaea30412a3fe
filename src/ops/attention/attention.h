// SPDX-License-Identifier: Apache-2.0
// Causal multi-head and grouped-query attention on a packed qkv buffer.
//
//   qkv   (B, T, H + 2 K, D)  per token: H query heads, then K key heads, then K value heads
//   out   (B, T, H, D)
//   lse   (B, H, T)           log Σ exp of each row's scores, kept for the backward pass
//
// H % K == 0; query head h reads key/value head h / (H / K) (integer division).
//   s[i, j] = scale q[i]·k[j] for the pairs that `pattern` shows (j <= i at most), hidden ones -inf
//   p = softmax_j(s),  out[i] = Σ_j p[i, j] v[j]
// The maximum of a row is subtracted before exp, so one dominant score does not overflow.
//
// Backward: with delta[i] = dout[i]·out[i] and dp[i, j] = dout[i]·v[j],
//   ds    = p (dp - delta)
//   dq[i] = scale Σ_j ds k[j],  dk[j] = scale Σ_i ds q[i],  dv[j] = Σ_i p dout[i]
// (dk and dv also sum over the query heads of their group). dqkv is overwritten in every element.
//
// Types: qkv, out, dout and dqkv f32 or bf16; lse f32 (beside f64: f64). With bf16 the products
// take bf16 operands (p and ds are rounded) and sum in f32; storage and products are otherwise in
// f32 (reference: f64 accumulators, or all f64). Error: two-oracle rule (docs/numerics.md). The
// number of threads changes no bit. `workspace`: at least attention_workspace_bytes() of u8,
// 64-byte aligned, contents undefined before and after.
#pragma once

#include "ops/attention/attention_pattern.h"
#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct AttentionForwardArgs {
  ConstView qkv;
  View out;
  View lse;
  View workspace = {};
  double scale = 1.0;
  AttentionPattern pattern = AttentionPattern::kCausal;
  std::int64_t stride = 1;  // of the pattern

  std::int64_t num_heads() const { return out.shape()[2]; }
  std::int64_t num_kv_heads() const { return (qkv.shape()[2] - num_heads()) / 2; }
};

struct AttentionBackwardArgs {
  ConstView qkv;
  ConstView out;
  ConstView lse;
  ConstView dout;
  View dqkv;
  View workspace = {};
  double scale = 1.0;
  AttentionPattern pattern = AttentionPattern::kCausal;
  std::int64_t stride = 1;  // of the pattern

  std::int64_t num_heads() const { return out.shape()[2]; }
  std::int64_t num_kv_heads() const { return (qkv.shape()[2] - num_heads()) / 2; }
};

void validate(const AttentionForwardArgs& args);
void validate(const AttentionBackwardArgs& args);

// Enough for a forward and for a backward call with these shapes (data pointers are not read).
std::int64_t attention_workspace_bytes(const Context& context, const AttentionForwardArgs& args);
void attention_forward(const Context& context, const AttentionForwardArgs& args);
void attention_backward(const Context& context, const AttentionBackwardArgs& args);

}  // namespace twill
