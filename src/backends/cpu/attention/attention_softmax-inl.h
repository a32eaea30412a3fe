// SPDX-License-Identifier: Apache-2.0
// Softmax down the columns of a block's scores (rows of keys, 64 queries), and
// its backward pass. Every query has its own lane: no horizontal sums.
#if defined(TWILL_BACKENDS_CPU_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_ATTENTION_SOFTMAX_INL_H_
#undef TWILL_BACKENDS_CPU_ATTENTION_SOFTMAX_INL_H_
#else
#define TWILL_BACKENDS_CPU_ATTENTION_SOFTMAX_INL_H_
#endif

#include <cmath>
#include <limits>

#include <hwy/highway.h>

#include "backends/cpu/attention/attention_reach.h"
#include "backends/cpu/math-inl.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

constexpr int kColumns = static_cast<int>(kAttentionBlock / lanes());

// Which of the queries [column, column + lanes) are in `seen`.
HWY_INLINE auto sees(Span seen, std::int64_t column) {
  const auto query = hn::Iota(F32(), static_cast<float>(column));
  return hn::And(hn::Ge(query, set(static_cast<float>(seen.begin))),
                 hn::Lt(query, set(static_cast<float>(seen.end))));
}

// Calls body(row, column, mask) for every vector of the rows in `range` that was computed.
template <class Body>
HWY_INLINE void for_each_masked(const ScoreRows& rows, Span range, const Body& body) {
  for (std::int64_t r = range.begin; r < range.end; ++r) {
    const Span groups = rows.tile_groups(r / kTileRows * kTileRows);
    const Span seen = rows.queries(r);
    for (std::int64_t q = groups.begin; q < groups.end; q += lanes()) body(r, q, sees(seen, q));
  }
}

// The largest visible score of every query, of those in `maxima` too.
HWY_INLINE void column_maxima(const ScoreRows& rows, const float* scores, VF (&maxima)[kColumns]) {
  constexpr std::int64_t N = lanes();
  const Span whole = rows.whole();
  const auto masked = [&](std::int64_t r, std::int64_t q, auto mask) HWY_ATTR {
    const VF lowest = set(-std::numeric_limits<float>::infinity());
    const VF s = hn::LoadU(F32(), scores + r * kAttentionBlock + q);
    maxima[q / N] = hn::Max(maxima[q / N], hn::IfThenElse(mask, s, lowest));
  };
  for_each_masked(rows, {0, whole.begin}, masked);
  VF kept[kColumns];  // in registers
  for (int c = 0; c < kColumns; ++c) kept[c] = maxima[c];
  for (std::int64_t r = whole.begin; r < whole.end; ++r) {
    HWY_UNROLL(4)
    for (int c = 0; c < kColumns; ++c)
      kept[c] = hn::Max(kept[c], hn::LoadU(F32(), scores + r * kAttentionBlock + c * N));
  }
  for (int c = 0; c < kColumns; ++c) maxima[c] = kept[c];
  for_each_masked(rows, {whole.end, rows.count}, masked);
}

// scores -> exp(score - maximum), 0 where hidden; added to the sum of every query.
HWY_INLINE void exp_columns(const ScoreRows& rows, float* scores, const VF (&maxima)[kColumns],
                            VF (&sums)[kColumns]) {
  constexpr std::int64_t N = lanes();
  const Span whole = rows.whole();
  const auto masked = [&](std::int64_t r, std::int64_t q, auto mask) HWY_ATTR {
    float* at = scores + r * kAttentionBlock + q;
    const VF e =
        hn::IfThenElseZero(mask, exp_negative(hn::Sub(hn::LoadU(F32(), at), maxima[q / N])));
    hn::StoreU(e, F32(), at);
    sums[q / N] = hn::Add(sums[q / N], e);
  };
  for_each_masked(rows, {0, whole.begin}, masked);
  VF kept[kColumns], top[kColumns];  // in registers
  for (int c = 0; c < kColumns; ++c) kept[c] = sums[c], top[c] = maxima[c];
  for (std::int64_t r = whole.begin; r < whole.end; ++r) {
    HWY_UNROLL(4)
    for (int c = 0; c < kColumns; ++c) {
      float* at = scores + r * kAttentionBlock + c * N;
      const VF e = exp_negative(hn::Sub(hn::LoadU(F32(), at), top[c]));
      hn::StoreU(e, F32(), at);
      kept[c] = hn::Add(kept[c], e);
    }
  }
  for (int c = 0; c < kColumns; ++c) sums[c] = kept[c];
  for_each_masked(rows, {whole.end, rows.count}, masked);
}

// Softmax without its division: lse of the block's queries, and 1 / sum of
// each.
HWY_INLINE void softmax_columns(const QueryBlock& block, float* near, float* far, float* lse,
                                float* inverse_sums) {
  VF maxima[kColumns], sums[kColumns];
  for (VF& maximum : maxima) maximum = set(-std::numeric_limits<float>::infinity());
  for (VF& sum : sums) sum = zero();
  column_maxima(block.near, near, maxima);
  column_maxima(block.far, far, maxima);
  exp_columns(block.near, near, maxima, sums);
  exp_columns(block.far, far, maxima, sums);
  HWY_ALIGN float max[kAttentionBlock], sum[kAttentionBlock];
  for (int c = 0; c < kColumns; ++c) {
    hn::Store(maxima[c], F32(), max + c * lanes());
    hn::Store(sums[c], F32(), sum + c * lanes());
  }
  for (std::int64_t i = 0; i < block.rows; ++i) {
    lse[i] = static_cast<float>(max[i] + std::log(static_cast<double>(sum[i])));
    inverse_sums[i] = 1.0f / sum[i];
  }
}

// scores -> p = exp(score - lse), dp -> p (dp - delta); both 0 where hidden.
HWY_INLINE void softmax_backward_columns(const ScoreRows& rows, const float* lse,
                                         const float* delta, float* scores, float* dp) {
  constexpr std::int64_t N = lanes();
  const auto probability = [&](std::int64_t at, std::int64_t q) HWY_ATTR {
    return exp_negative(hn::Sub(hn::LoadU(F32(), scores + at), hn::LoadU(F32(), lse + q)));
  };
  const auto write = [&](std::int64_t at, std::int64_t q, VF p) HWY_ATTR {
    const VF centred = hn::Sub(hn::LoadU(F32(), dp + at), hn::LoadU(F32(), delta + q));
    hn::StoreU(p, F32(), scores + at);
    hn::StoreU(hn::Mul(p, centred), F32(), dp + at);
  };
  const auto masked = [&](std::int64_t r, std::int64_t q, auto mask) HWY_ATTR {
    const std::int64_t at = r * kAttentionBlock + q;
    write(at, q, hn::IfThenElseZero(mask, probability(at, q)));
  };
  const Span whole = rows.whole();
  for_each_masked(rows, {0, whole.begin}, masked);
  for (std::int64_t r = whole.begin; r < whole.end; ++r)
    for (std::int64_t q = 0; q < kAttentionBlock; q += N)
      write(r * kAttentionBlock + q, q, probability(r * kAttentionBlock + q, q));
  for_each_masked(rows, {whole.end, rows.count}, masked);
}

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
