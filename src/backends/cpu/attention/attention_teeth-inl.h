// SPDX-License-Identifier: Apache-2.0
// Far keys of the strided patterns: query i sees i - stride, i - 2 stride, … Neighbours share no
// key, so there is no product of matrices to be had: every pair is a product of two vectors, at a
// third of the rate of the tiles. But a query has T / stride of them at most.
//
// scores (teeth, 64): row r of query i is its tooth (first_far + r) stride back. Where a query has
// no such tooth nothing is read or written.
#if defined(TWILL_BACKENDS_CPU_ATTENTION_TEETH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_ATTENTION_TEETH_INL_H_
#undef TWILL_BACKENDS_CPU_ATTENTION_TEETH_INL_H_
#else
#define TWILL_BACKENDS_CPU_ATTENTION_TEETH_INL_H_
#endif

#include <algorithm>

#include <hwy/highway.h>

#include "backends/cpu/attention/attention_ahead.h"
#include "backends/cpu/attention/attention_reach.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

// Queries of a block that have `count` teeth each.
struct Combs {
  Span q;
  std::int64_t count;
};

// Calls body(combs) for every run of queries that have equally many.
template <class Body>
HWY_INLINE void for_each_run(const QueryBlock& block, const Body& body) {
  const AttentionReach& reach = block.reach;
  for (std::int64_t q = 0; q < block.rows;) {
    const std::int64_t end = ((block.t + q) / reach.stride + 1) * reach.stride - block.t;
    const Combs combs{{q, std::min(end, block.rows)}, reach.num_far(block.t + q)};
    body(combs);
    q = combs.q.end;
  }
}

// The token that is tooth r of the block's first query; those of query q lie q further.
HWY_INLINE std::int64_t tooth(const QueryBlock& block, std::int64_t r) {
  return block.t - (block.reach.first_far + r) * block.reach.stride;
}

// a·b, its terms added up lane by lane.
HWY_INLINE VF lane_products(const float* a, const float* b, std::int64_t width) {
  const F32 d;
  constexpr std::int64_t N = lanes();
  VF even = zero(), odd = zero();
  std::int64_t i = 0;
  for (; i + 2 * N <= width; i += 2 * N) {
    even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
    odd = hn::MulAdd(hn::LoadU(d, a + i + N), hn::LoadU(d, b + i + N), odd);
  }
  if (i < width) even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
  return hn::Add(even, odd);
}

#if HWY_TARGET != HWY_SCALAR
// The sum of the 16-byte blocks of v.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> fold(D /*d*/, V v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of four vectors' lanes, at a third of the cost of one after the other.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> sums_of_four(D d, V a, V b, V c, V e) {
  const hn::Repartition<double, D> dd;
  const V ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const V ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto low = hn::InterleaveLower(dd, hn::BitCast(dd, ab), hn::BitCast(dd, ce));
  const auto high = hn::InterleaveUpper(dd, hn::BitCast(dd, ab), hn::BitCast(dd, ce));
  // In every 16 bytes: a, b, c, e.
  return fold(d, hn::Add(hn::BitCast(d, low), hn::BitCast(d, high)));
}
#endif

// scores[r, q] = scale rows[q]·keys[tooth r of q].
HWY_INLINE void score_teeth(const QueryBlock& block, const float* keys, const float* rows,
                            std::int64_t width, float scale, float* scores, RowsAhead& ahead) {
  for_each_run(block, [&](const Combs& combs) HWY_ATTR {
    for (std::int64_t r = 0; r < combs.count; ++r) {
      float* to = scores + r * kAttentionBlock;
      const auto products = [&](std::int64_t q) HWY_ATTR {
        return lane_products(rows + q * width, keys + (tooth(block, r) + q) * width, width);
      };
      std::int64_t q = combs.q.begin;
#if HWY_TARGET != HWY_SCALAR
      const hn::FixedTag<float, 4> four;
      for (; q + 4 <= combs.q.end; q += 4) {
        ahead.step();
        const auto sums =
            sums_of_four(F32(), products(q), products(q + 1), products(q + 2), products(q + 3));
        hn::StoreU(hn::Mul(sums, hn::Set(four, scale)), four, to + q);
      }
#endif
      for (; q < combs.q.end; ++q) {
        ahead.step();
        to[q] = scale * sum_of_lanes(products(q));
      }
    }
  });
}

// to[q] += Σ_r scores[r, q] values[tooth r of q].
HWY_INLINE void mix_teeth(const QueryBlock& block, const float* scores, const float* values,
                          std::int64_t width, float* to) {
  const std::int64_t back = block.reach.stride * width;
  for_each_run(block, [&](const Combs& combs) HWY_ATTR {
    const F32 d;
    for (std::int64_t q = combs.q.begin; q < combs.q.end; ++q)
      for (std::int64_t i = 0; i < width; i += lanes()) {
        const float* value = values + (tooth(block, 0) + q) * width + i;
        VF sum = hn::LoadU(d, to + q * width + i);
        for (std::int64_t r = 0; r < combs.count; ++r)
          sum =
              hn::MulAdd(set(scores[r * kAttentionBlock + q]), hn::LoadU(d, value - r * back), sum);
        hn::StoreU(sum, d, to + q * width + i);
      }
  });
}

// to[tooth r of q] += scores[r, q] rows[q].
HWY_INLINE void spread_teeth(const QueryBlock& block, const float* scores, const float* rows,
                             std::int64_t width, float* to) {
  for_each_run(block, [&](const Combs& combs) HWY_ATTR {
    const F32 d;
    for (std::int64_t r = 0; r < combs.count; ++r)
      for (std::int64_t q = combs.q.begin; q < combs.q.end; ++q) {
        const VF factor = set(scores[r * kAttentionBlock + q]);
        const float* row = rows + q * width;
        float* line = to + (tooth(block, r) + q) * width;
        for (std::int64_t i = 0; i < width; i += lanes())
          hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, row + i), hn::LoadU(d, line + i)), d,
                     line + i);
      }
  });
}

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
