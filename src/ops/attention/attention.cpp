// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"

#include "ops/validate.h"

namespace twill {
namespace {

void require_heads(const Shape& qkv, const Shape& out) {
  require(qkv.rank() == 4 && out.rank() == 4,
          "[attention] qkv must have shape (B, T, H + 2 K, D) and out (B, T, H, D), got {} and {}",
          to_string(qkv), to_string(out));
  const std::int64_t heads = out[2], kv_twice = qkv[2] - heads;
  require(qkv[0] == out[0] && qkv[1] == out[1] && qkv[3] == out[3],
          "[attention] out must match qkv in B, T and D, got {} and {}", to_string(out),
          to_string(qkv));
  require(heads > 0 && kv_twice > 0 && kv_twice % 2 == 0 && heads % (kv_twice / 2) == 0,
          "[attention] {} query heads must be a multiple of the key/value heads, got {} / 2", heads,
          kv_twice);
}

template <class Args>
void require_stride(const Args& args) {
  require(args.stride >= 1, "[attention] stride must be 1 or more, got {}", args.stride);
}

}  // namespace

void validate(const AttentionForwardArgs& args) {
  require_float_types("attention", {{"qkv", args.qkv}, {"out", args.out}}, {{"lse", args.lse}});
  require_heads(args.qkv.shape(), args.out.shape());
  const Shape& out = args.out.shape();
  require_shape("attention", {"lse", args.lse}, {out[0], out[2], out[1]});
  require_stride(args);
}

void validate(const AttentionBackwardArgs& args) {
  require_float_types(
      "attention", {{"qkv", args.qkv}, {"out", args.out}, {"dout", args.dout}, {"dqkv", args.dqkv}},
      {{"lse", args.lse}});
  require_heads(args.qkv.shape(), args.out.shape());
  const Shape& out = args.out.shape();
  require_shape("attention", {"lse", args.lse}, {out[0], out[2], out[1]});
  require_stride(args);
  require_shape("attention", {"dout", args.dout}, out);
  require_shape("attention", {"dqkv", args.dqkv}, args.qkv.shape());
}

std::int64_t attention_workspace_bytes(const Context& context, const AttentionForwardArgs& args) {
  require_heads(args.qkv.shape(), args.out.shape());
  return context.kernels().attention_workspace_bytes(args, context.device());
}

namespace {

template <class Args>
void require_workspace(const Context& context, const Args& args) {
  const AttentionForwardArgs shapes{
      .qkv = args.qkv, .out = View(nullptr, args.out.dtype(), args.out.shape()), .lse = {}};
  const std::int64_t needed = attention_workspace_bytes(context, shapes);
  const std::int64_t given = args.workspace ? args.workspace.num_bytes() : 0;
  require(given >= needed, "[attention] workspace must have at least {} bytes, got {}", needed,
          given);
}

}  // namespace

void attention_forward(const Context& context, const AttentionForwardArgs& args) {
  validate(args);
  require_stored("attention", context.kernels(), args.qkv);
  require_workspace(context, args);
  context.run("attention_forward", context.kernels().attention_forward, args);
}

void attention_backward(const Context& context, const AttentionBackwardArgs& args) {
  validate(args);
  require_stored("attention", context.kernels(), args.qkv);
  require_workspace(context, args);
  context.run("attention_backward", context.kernels().attention_backward, args);
}

}  // namespace twill
