// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/cached_attention.h"

#include "ops/validate.h"

namespace twill {

void validate(const CachedAttentionArgs& args) {
  require_float_types(
      "cached_attention",
      {{"qkv", args.qkv}, {"keys", args.keys}, {"values", args.values}, {"out", args.out, true}},
      {});
  const Shape &qkv = args.qkv.shape(), &keys = args.keys.shape();
  require(
      qkv.rank() == 3 && keys.rank() == 3 && qkv[2] == keys[2],
      "[cached_attention] qkv must have shape (N, H + 2 K, D) and keys (C, K, D), got {} and {}",
      to_string(qkv), to_string(keys));
  require_shape("cached_attention", {"values", args.values}, keys);
  const std::int64_t heads = args.num_heads(), kv_heads = args.num_kv_heads();
  require(kv_heads > 0 && heads > 0 && heads % kv_heads == 0,
          "[cached_attention] {} query heads must be a multiple of the key/value heads, got {}",
          heads, kv_heads);
  require(args.past >= 0 && args.past <= keys[0] - qkv[0],
          "[cached_attention] past must be 0 to {}, for {} new tokens and a cache of {}, got {}",
          keys[0] - qkv[0], qkv[0], keys[0], args.past);
  require_shape("cached_attention", {"out", args.out, true}, {qkv[0], heads, qkv[2]});
}

void cached_attention(const Context& context, const CachedAttentionArgs& args) {
  validate(args);
  require_stored("cached_attention", context.kernels(), args.qkv);
  context.run("cached_attention", context.kernels().cached_attention, args);
}

}  // namespace twill
