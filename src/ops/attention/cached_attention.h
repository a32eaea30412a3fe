// SPDX-License-Identifier: Apache-2.0
// Attention of a few new tokens of one sequence over a cache of all earlier ones: what writing a
// text token by token needs.
//
//   qkv     (N, H + 2 K, D)  per new token: H query heads, then K key heads, then K value heads
//   keys    (C, K, D)        rows [0, past) hold the earlier tokens' keys
//   values  (C, K, D)        and values; both are written in rows [past, past + N)
//   out     (N, H, D)        optional: without it the tokens are only stored
//
// past >= 0, past + N <= C, H % K == 0; query head h reads key/value head h / (H / K) (integer
// division). First the keys and values of the new tokens are copied into the cache, bit for bit;
// then, with keys and values read from the cache,
//   s[n, j] = scale q[n]·k[j] for j <= past + n,  p = softmax_j(s),  out[n] = Σ_j p[n, j] v[j]
// which is attention_forward (ops/attention/attention.h) for the last N of past + N tokens.
//
// Cache rows from past + N on are neither read nor written. No operand may overlap another. A NaN
// in a score or a value makes the head's output NaN. Storage in f32 or bf16, products in f32
// (reference: f64 accumulators, or all f64); one maximum is subtracted before exp. Error: two-
// oracle rule (docs/numerics.md). The number of threads changes no bit, and neither does the
// division of tokens among calls: each token's output depends on what the cache holds for it alone.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct CachedAttentionArgs {
  ConstView qkv;
  View keys;
  View values;
  View out = {};
  std::int64_t past = 0;
  double scale = 1.0;

  std::int64_t num_tokens() const { return qkv.shape()[0]; }
  std::int64_t num_kv_heads() const { return keys.shape()[1]; }
  std::int64_t num_heads() const { return qkv.shape()[1] - 2 * num_kv_heads(); }
};

void validate(const CachedAttentionArgs& args);
void cached_attention(const Context& context, const CachedAttentionArgs& args);

}  // namespace twill
