// SPDX-License-Identifier: Apache-2.0
// One query over a cache, in blocks of tokens whose scores stay on the stack. The output row is the
// accumulator: when a block brings a larger maximum, what was summed before is scaled down, so no
// scratch grows with the length and every key and value is read once.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/cached_attention_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/attention/cached_attention_simd.h"
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

// A block of 512 scores is 2 KB; at D = 64 its values fill 128 KB, still in a second-level cache.
constexpr std::int64_t kBlock = 512;

// scores[j] = scale q·k[j]; returns their maximum.
HWY_INLINE float score_block(const CachedHead& head, const float* k, std::int64_t count,
                             float* scores) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = 0; j < count; ++j) {
    const float* key = k + j * head.stride;
    const float dot = sum_over(head.D, [&](std::int64_t i, std::int64_t left) HWY_ATTR {
      return hn::Mul(load(head.q + i, left), load(key + i, left));
    });
    scores[j] = head.scale * dot;
    largest = std::max(largest, scores[j]);
  }
  return largest;
}

// scores -> exp(scores - largest); returns their sum.
HWY_INLINE float exp_block(float* scores, std::int64_t count, float largest) {
  return sum_over(count, [&](std::int64_t i, std::int64_t left) HWY_ATTR {
    const VF e = exp_negative(hn::Sub(load(scores + i, left), set(largest)));
    store(e, scores + i, left);
    return e;
  });
}

// out = shrink out + Σ p[j] v[j], one vector of out in a register at a time. Before the first block
// out still holds what its owner left there; later a NaN stays, however small `shrink` is.
HWY_INLINE void add_values(const CachedHead& head, const float* v, std::int64_t count,
                           const float* p, float shrink, bool is_first) {
  for (std::int64_t d = 0; d < head.D; d += lanes()) {
    const std::int64_t left = head.D - d;
    VF even = zero(), odd = zero();
    std::int64_t j = 0;
    for (; j + 2 <= count; j += 2) {
      even = hn::MulAdd(set(p[j]), load(v + j * head.stride + d, left), even);
      odd = hn::MulAdd(set(p[j + 1]), load(v + (j + 1) * head.stride + d, left), odd);
    }
    if (j < count) even = hn::MulAdd(set(p[j]), load(v + j * head.stride + d, left), even);
    const VF before = is_first ? zero() : hn::Mul(set(shrink), load(head.out + d, left));
    store(hn::Add(before, hn::Add(even, odd)), head.out + d, left);
  }
}

void attend_cached_impl(const CachedHead& head) {
  HWY_ALIGN float scores[kBlock];
  float largest = -std::numeric_limits<float>::infinity(), sum = 0.0f;
  for (std::int64_t begin = 0; begin < head.count; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, head.count - begin), at = begin * head.stride;
    const float before = largest;
    largest = std::max(largest, score_block(head, head.k + at, count, scores));
    const float shrink = begin == 0 ? 0.0f : std::exp(before - largest);
    sum = shrink * sum + exp_block(scores, count, largest);
    add_values(head, head.v + at, count, scores, shrink, begin == 0);
  }
  for (std::int64_t d = 0; d < head.D; d += lanes())
    store(hn::Div(load(head.out + d, head.D - d), set(sum)), head.out + d, head.D - d);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(attend_cached_impl);

void attend_cached(const CachedHead& head) { HWY_DYNAMIC_DISPATCH(attend_cached_impl)(head); }

}  // namespace twill::cpu
#endif  // HWY_ONCE
