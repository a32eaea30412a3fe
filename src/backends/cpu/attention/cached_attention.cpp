// SPDX-License-Identifier: Apache-2.0
// Attention over a cache on the cpu: new keys and values are copied in first, then a task is one
// query head of one new token.
//
// Bound by memory: one query does two flops per four bytes of cache it reads. Query heads that
// share a key/value head are neighbouring tasks and meet in a shared cache level.
#include "ops/attention/cached_attention.h"

#include <algorithm>

#include "backends/cpu/attention/cached_attention_simd.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // elements copied per task

void store_tokens(const CachedAttentionArgs& args, Queue& queue) {
  const std::int64_t D = args.qkv.shape()[2], size = args.num_kv_heads() * D;
  const std::int64_t queries = args.num_heads() * D, token_size = queries + 2 * size;
  float* keys = args.keys.as<float>() + args.past * size;
  float* values = args.values.as<float>() + args.past * size;
  run_pieces(queue, args.num_tokens(), rows_per_task(kPiece, 2 * size),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t n = begin; n < end; ++n) {
                 const float* token = args.qkv.as<float>() + n * token_size + queries;
                 std::copy_n(token, size, keys + n * size);
                 std::copy_n(token + size, size, values + n * size);
               }
             });
}

}  // namespace

void cached_attention(const CachedAttentionArgs& args, const Device&, Queue& queue) {
  store_tokens(args, queue);
  if (!args.out) return;
  const std::int64_t H = args.num_heads(), K = args.num_kv_heads(), D = args.qkv.shape()[2];
  run_tasks(queue, args.num_tokens() * H, [&](std::int64_t task, int) {
    const std::int64_t n = task / H, h = task % H, kv = h / (H / K);
    attend_cached({.q = args.qkv.as<float>() + (n * (H + 2 * K) + h) * D,
                   .k = args.keys.as<float>() + kv * D,
                   .v = args.values.as<float>() + kv * D,
                   .out = args.out.as<float>() + task * D,
                   .count = args.past + n + 1,
                   .stride = K * D,
                   .D = D,
                   .scale = static_cast<float>(args.scale)});
  });
}

}  // namespace twill::cpu
