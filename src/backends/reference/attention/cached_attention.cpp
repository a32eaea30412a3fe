// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class E>
void store(const CachedAttentionArgs& args) {
  const std::int64_t H = args.num_heads(), K = args.num_kv_heads(), D = args.qkv.shape()[2];
  for (std::int64_t n = 0; n < args.num_tokens(); ++n) {
    for (std::int64_t i = 0; i < K * D; ++i) {
      const E* token = args.qkv.as<E>() + n * (H + 2 * K) * D;
      args.keys.as<E>()[(args.past + n) * K * D + i] = token[H * D + i];
      args.values.as<E>()[(args.past + n) * K * D + i] = token[(H + K) * D + i];
    }
  }
}

// out (D) of query head h of token n.
template <class E>
void attend(const CachedAttentionArgs& args, std::int64_t n, std::int64_t h, E* out) {
  const std::int64_t H = args.num_heads(), K = args.num_kv_heads(), D = args.qkv.shape()[2];
  const std::int64_t kv = h / (H / K), count = args.past + n + 1;
  const E* q = args.qkv.as<E>() + (n * (H + 2 * K) + h) * D;
  std::vector<double> scores;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < count; ++j) {
    const E* k = args.keys.as<E>() + (j * K + kv) * D;
    double dot = 0.0;
    for (std::int64_t d = 0; d < D; ++d) dot += double{q[d]} * double{k[d]};
    scores.push_back(args.scale * dot);
    largest = std::max(largest, scores.back());
  }
  double sum = 0.0;
  for (const double score : scores) sum += std::exp(score - largest);
  for (std::int64_t d = 0; d < D; ++d) {
    double value = 0.0;
    for (std::int64_t j = 0; j < count; ++j) {
      const double p = std::exp(scores[static_cast<std::size_t>(j)] - largest) / sum;
      value += p * double{args.values.as<E>()[(j * K + kv) * D + d]};
    }
    out[d] = static_cast<E>(value);
  }
}

template <class E>
void run(const CachedAttentionArgs& args) {
  store<E>(args);
  if (!args.out) return;
  const std::int64_t H = args.num_heads(), D = args.qkv.shape()[2];
  for (std::int64_t n = 0; n < args.num_tokens(); ++n)
    for (std::int64_t h = 0; h < H; ++h) attend(args, n, h, args.out.as<E>() + (n * H + h) * D);
}

}  // namespace

void cached_attention(const CachedAttentionArgs& args, const Device&, Queue&) {
  with_element_type(args.qkv.dtype(), [&]<class E>(E) { run<E>(args); });
}

}  // namespace twill::reference
