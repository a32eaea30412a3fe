// SPDX-License-Identifier: Apache-2.0
#include "nn/self_attention.h"

#include <cmath>

#include "base/check.h"
#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/attention/rotary.h"

namespace twill {
namespace {

// lse is reserved for the largest pass; a smaller one uses its front.
View lse_view(const Pass& pass, View lse, std::int64_t heads) {
  return lse.slice(0, pass.tokens() * heads).reshaped({pass.batch, heads, pass.time});
}

}  // namespace

SelfAttention::SelfAttention(Builder& builder, const std::string& name, Options options)
    : options_(options),
      qkv_heads_(options.heads + 2 * options.kv_heads),
      seam_(builder.attention_seam({.name = name, .plain = options.mask.kind})),
      qkv_(builder, name + ".qkv",
           {.in = options.width,
            .out = qkv_heads_ * options.head_dim,
            .bias = options.bias,
            .init_std = options.init_std,
            .family = LayerFamily::kAttention}),
      output_(builder, name + ".output",
              {.linear = {.in = options.heads * options.head_dim,
                          .out = options.width,
                          .bias = options.bias,
                          .init_std = options.output_init_std,
                          .family = LayerFamily::kAttention,
                          .width_axis = GroupAxis::kWithinColumn},
               .dropout = options.dropout,
               .dropout_stream = options.dropout_stream}) {
  const std::int64_t tokens = builder.max_tokens();
  const Shape qkv_shape{tokens, qkv_heads_ * options.head_dim};
  const Shape context_shape{tokens, options.heads * options.head_dim};
  const bool keep = builder.options().recompute.keeps_inside();
  builder.activation("attention.qkv", qkv_out_, qkv_shape, keep);
  builder.activation("attention.context", context_, context_shape, keep);
  builder.statistic("attention.lse", lse_, {tokens * options.heads}, keep);
  if (builder.options().training) {
    builder.scratch("attention.dqkv", dqkv_, qkv_shape);
    builder.scratch("attention.dcontext", dcontext_, context_shape);
  }
  // Shapes only: no memory exists yet.
  const std::int64_t batch = builder.options().max_batch, time = builder.options().max_time;
  const DType dtype = builder.options().dtype;
  const auto [q, k, v] = split_qkv(
      ConstView(nullptr, dtype, {batch, time, qkv_heads_, options.head_dim}), options.heads);
  const AttentionForwardArgs largest{
      .q = q, .k = k, .v = v, .out = {}, .lse = {}, .mask = options.mask};
  builder.scratch_bytes("attention.workspace", workspace_,
                        attention_workspace_bytes(builder.context(), largest));
  if (!builder.options().decoding || !is_causal(options.mask.kind)) return;
  builder.state(keys_, dtype, {time, options.kv_heads, options.head_dim});
  builder.state(values_, dtype, {time, options.kv_heads, options.head_dim});
}

View SelfAttention::heads_view(const Pass& pass, View buffer, std::int64_t heads) const {
  return pass.rows(buffer).reshaped({pass.batch, pass.time, heads, options_.head_dim});
}

void SelfAttention::forward(const Pass& pass, ConstView x, ConstView residual, View out) const {
  qkv_.forward(pass, x, pass.rows(qkv_out_));
  const View qkv = heads_view(pass, qkv_out_, qkv_heads_);
  if (options_.rotary_theta > 0.0)
    rotary(pass.context, {.x = qkv,
                          .num_rotated = options_.heads + options_.kv_heads,
                          .theta = options_.rotary_theta,
                          .first_position = pass.past});
  attend(pass);
  output_.forward(pass, pass.rows(context_), residual, out);
}

double SelfAttention::scale() const {
  return 1.0 / std::sqrt(static_cast<double>(options_.head_dim));
}

AttentionMask SelfAttention::mask(const Pass& pass) const {
  if (!pass.as_trained || seam_.pattern == AttentionPattern::kCausal) return options_.mask;
  TWILL_CHECK(options_.mask.kind == AttentionPattern::kCausal,
              "recipes give patterns to causal attention alone");
  return {seam_.pattern, seam_.stride};
}

void SelfAttention::attend(const Pass& pass) const {
  if (pass.past > 0) return attend_over_cache(pass, /*store_only=*/false);
  const auto [q, k, v] = split_qkv(heads_view(pass, qkv_out_, qkv_heads_), options_.heads);
  attention_forward(pass.context, {.q = q,
                                   .k = k,
                                   .v = v,
                                   .out = heads_view(pass, context_, options_.heads),
                                   .lse = lse_view(pass, lse_, options_.heads),
                                   .workspace = workspace_,
                                   .scale = scale(),
                                   .mask = mask(pass),
                                   .key_lengths = pass.lengths,
                                   .query_lengths = pass.lengths});
  // Without a past the product form above is the quicker one; the cache still has to be filled.
  if (pass.cached) attend_over_cache(pass, /*store_only=*/true);
}

void SelfAttention::attend_over_cache(const Pass& pass, bool store_only) const {
  TWILL_CHECK(pass.cached && pass.batch == 1 && keys_, "decoding needs a cache and one sequence");
  TWILL_CHECK(!pass.lengths, "a cache has no padding");
  const Shape out{pass.time, options_.heads, options_.head_dim};
  cached_attention(pass.context,
                   {.qkv = pass.rows(qkv_out_).reshaped({pass.time, qkv_heads_, options_.head_dim}),
                    .keys = keys_,
                    .values = values_,
                    .out = store_only ? View() : pass.rows(context_).reshaped(out),
                    .past = pass.past,
                    .scale = scale()});
}

void SelfAttention::backward(const Pass& pass, ConstView x, ConstView dout, View dx) const {
  output_.backward(pass, pass.rows(context_), dout, pass.rows(dcontext_));
  const View dqkv = heads_view(pass, dqkv_, qkv_heads_);
  const auto [q, k, v] = split_qkv(heads_view(pass, qkv_out_, qkv_heads_), options_.heads);
  const auto [dq, dk, dv] = split_qkv(dqkv, options_.heads);
  attention_backward(pass.context, {.q = q,
                                    .k = k,
                                    .v = v,
                                    .out = heads_view(pass, context_, options_.heads),
                                    .lse = lse_view(pass, lse_, options_.heads),
                                    .dout = heads_view(pass, dcontext_, options_.heads),
                                    .dq = dq,
                                    .dk = dk,
                                    .dv = dv,
                                    .workspace = workspace_,
                                    .scale = scale(),
                                    .mask = mask(pass),
                                    .key_lengths = pass.lengths,
                                    .query_lengths = pass.lengths});
  if (options_.rotary_theta > 0.0)
    rotary(pass.context, {.x = dqkv,
                          .num_rotated = options_.heads + options_.kv_heads,
                          .theta = options_.rotary_theta,
                          .inverse = true});
  qkv_.wgrad(pass, x, pass.rows(dqkv_));
  qkv_.dgrad(pass, pass.rows(dqkv_), dx);
}

}  // namespace twill
