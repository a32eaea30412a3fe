// SPDX-License-Identifier: Apache-2.0
// Multi-head and grouped-query attention, of a sequence to itself or to another one.
//
//   q     (B, T, H, D)   queries
//   k, v  (B, S, K, D)   keys and values; S = T where a sequence looks at itself
//   out   (B, T, H, D)
//   lse   (B, H, T)      log Σ exp of each row's scores, kept for the backward pass
//
// q, k, v and their gradients are HeadsViews (ops/attention/heads_view.h), each with a stride of its
// own: they may lie in one packed buffer (split_qkv) or in three. H % K == 0; query head h reads
// key/value head h / (H / K) (integer division).
//   s[i, j] = scale q[i]·k[j] for visible pairs, hidden ones -inf
//   p = softmax_j(s),  out[i] = Σ_j p[i, j] v[j]
// The maximum of a row is subtracted before exp, so one dominant score does not overflow.
//
// A pair is visible where `mask` shows it (ops/attention/attention_pattern.h) and both its query and
// its key exist. In sequence b the queries [0, query_lengths[b]) and the keys [0, key_lengths[b])
// exist; absent lengths: all of them. Lengths are read on the device; what is below 0 counts as 0, what
// is above T or S as that. Self-attention over padded sequences passes the same lengths twice; a
// decoder's look at its source passes those of the target and those of the source.
// What does not exist may hold anything, NaN included: no result knows.
//
// Where a query does not exist, or sees no key: out is 0, lse is 0, and dq is 0. Where a key does not
// exist, or no query sees it: dk and dv are 0. A sequence with padding has the same result to the bit
// as one that ends there (cuda: where the same kernel takes both).
//
// Backward: with delta[i] = dout[i]·out[i] and dp[i, j] = dout[i]·v[j],
//   ds    = p (dp - delta)
//   dq[i] = scale Σ_j ds k[j],  dk[j] = scale Σ_i ds q[i],  dv[j] = Σ_i p dout[i]
// (dk and dv also sum over the query heads of their group). Every element of dq, dk and dv is
// overwritten, and nothing between their rows.
//
// Types: q, k, v, out, dout, dq, dk and dv f32 or bf16; lse f32 (beside f64: f64); lengths i32. With
// bf16 the products take bf16 operands (p and ds are rounded) and sum in f32; storage and products are
// otherwise in f32 (reference: f64 accumulators, or all f64). Error: two-oracle rule
// (docs/numerics.md). The number of threads changes no bit. `workspace`: at least
// attention_workspace_bytes() of u8, 64-byte aligned, contents undefined before and after.
#pragma once

#include "ops/attention/attention_pattern.h"
#include "ops/attention/heads_view.h"
#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct AttentionForwardArgs {
  ConstHeadsView q, k, v;
  View out;
  View lse;
  View workspace = {};
  double scale = 1.0;
  AttentionMask mask = {};
  ConstView key_lengths = {};    // (B) i32, optional
  ConstView query_lengths = {};  // (B) i32, optional
};

struct AttentionBackwardArgs {
  ConstHeadsView q, k, v;
  ConstView out;
  ConstView lse;
  ConstView dout;
  HeadsView dq, dk, dv;
  View workspace = {};
  double scale = 1.0;
  AttentionMask mask = {};
  ConstView key_lengths = {};    // (B) i32, optional
  ConstView query_lengths = {};  // (B) i32, optional
};

// The sizes of a call, as the head of this page names them.
struct AttentionExtents {
  template <class Args>
  explicit AttentionExtents(const Args& args)
      : B(args.q.shape()[0]),
        T(args.q.shape()[1]),
        S(args.k.shape()[1]),
        H(args.q.shape()[2]),
        K(args.k.shape()[2]),
        D(args.q.shape()[3]) {}

  std::int64_t B, T, S, H, K, D;
};

void validate(const AttentionForwardArgs& args);
void validate(const AttentionBackwardArgs& args);

// Enough for a forward and for a backward call with these shapes, whatever they mask (data pointers
// are not read).
std::int64_t attention_workspace_bytes(const Context& context, const AttentionForwardArgs& args);
void attention_forward(const Context& context, const AttentionForwardArgs& args);
void attention_backward(const Context& context, const AttentionBackwardArgs& args);

}  // namespace twill
