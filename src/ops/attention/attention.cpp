// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"

#include "ops/validate.h"

namespace twill {
namespace {

// For checks of presence, type and shape alone: it has no stride.
ConstView unstrided(const ConstHeadsView& heads) {
  return {heads.bytes(), heads.dtype(), heads.shape()};
}

void require_heads(const ConstHeadsView& q_heads, const ConstHeadsView& k_heads,
                   const ConstHeadsView& v_heads) {
  const Shape &q = q_heads.shape(), &k = k_heads.shape();
  require(q.rank() == 4 && k.rank() == 4,
          "[attention] q must have shape (B, T, H, D) and k (B, S, K, D), got {} and {}",
          to_string(q), to_string(k));
  require(q[0] == k[0] && q[3] == k[3], "[attention] k must match q in B and D, got {} and {}",
          to_string(k), to_string(q));
  require(v_heads.shape() == k, "[attention] v must have the shape of k, {}, got {}", to_string(k),
          to_string(v_heads.shape()));
  require(q[2] > 0 && k[2] > 0 && q[2] % k[2] == 0,
          "[attention] {} query heads must be a multiple of the {} key/value heads", q[2], k[2]);
}

void require_row_stride(const char* name, const ConstHeadsView& heads) {
  const std::int64_t row = heads.shape()[2] * heads.shape()[3];
  require(heads.row_stride() >= row,
          "[attention] rows of {} must lie {} elements apart or more, got {}", name, row,
          heads.row_stride());
}

void require_lengths(const char* name, ConstView lengths, std::int64_t batch) {
  if (!lengths) return;
  require_dtype("attention", {name, lengths}, DType::kI32);
  require_shape("attention", {name, lengths}, {batch});
}

// What both directions have.
template <class Args>
void require_common(const Args& args) {
  require_heads(args.q, args.k, args.v);
  require_row_stride("q", args.q);
  require_row_stride("k", args.k);
  require_row_stride("v", args.v);
  const AttentionExtents is(args);
  require_shape("attention", {"out", args.out}, args.q.shape());
  require_shape("attention", {"lse", args.lse}, {is.B, is.H, is.T});
  require(args.mask.stride >= 1, "[attention] stride must be 1 or more, got {}", args.mask.stride);
  require_lengths("key_lengths", args.key_lengths, is.B);
  require_lengths("query_lengths", args.query_lengths, is.B);
}

void require_gradient(const char* name, const HeadsView& gradient, const Shape& shape) {
  require_shape("attention", {name, unstrided(gradient)}, shape);
  require_row_stride(name, gradient);
}

}  // namespace

void validate(const AttentionForwardArgs& args) {
  require_float_types("attention",
                      {{"q", unstrided(args.q)},
                       {"k", unstrided(args.k)},
                       {"v", unstrided(args.v)},
                       {"out", args.out}},
                      {{"lse", args.lse}});
  require_common(args);
}

void validate(const AttentionBackwardArgs& args) {
  require_float_types("attention",
                      {{"q", unstrided(args.q)},
                       {"k", unstrided(args.k)},
                       {"v", unstrided(args.v)},
                       {"out", args.out},
                       {"dout", args.dout},
                       {"dq", unstrided(args.dq)},
                       {"dk", unstrided(args.dk)},
                       {"dv", unstrided(args.dv)}},
                      {{"lse", args.lse}});
  require_common(args);
  require_shape("attention", {"dout", args.dout}, args.q.shape());
  require_gradient("dq", args.dq, args.q.shape());
  require_gradient("dk", args.dk, args.k.shape());
  require_gradient("dv", args.dv, args.k.shape());
}

std::int64_t attention_workspace_bytes(const Context& context, const AttentionForwardArgs& args) {
  require_heads(args.q, args.k, args.v);
  return context.kernels().attention_workspace_bytes(args, context.device());
}

namespace {

template <class Args>
void require_workspace(const Context& context, const Args& args) {
  const AttentionForwardArgs shapes{
      .q = args.q, .k = args.k, .v = args.v, .out = {}, .lse = {}, .mask = args.mask};
  const std::int64_t needed = attention_workspace_bytes(context, shapes);
  const std::int64_t given = args.workspace ? args.workspace.num_bytes() : 0;
  require(given >= needed, "[attention] workspace must have at least {} bytes, got {}", needed,
          given);
}

}  // namespace

void attention_forward(const Context& context, const AttentionForwardArgs& args) {
  validate(args);
  require_stored("attention", context.kernels(), args.out);
  require_workspace(context, args);
  context.run("attention_forward", context.kernels().attention_forward, args);
}

void attention_backward(const Context& context, const AttentionBackwardArgs& args) {
  validate(args);
  require_stored("attention", context.kernels(), args.out);
  require_workspace(context, args);
  context.run("attention_backward", context.kernels().attention_backward, args);
}

}  // namespace twill
