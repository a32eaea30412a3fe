// SPDX-License-Identifier: Apache-2.0
// The matrix products inside attention: small, in cache, with a causal edge. Four rows of c at a
// time stay in registers; a is broadcast element by element, b is read in vectors.
//
// A library's product pays for packing and knows no causal edge: at 64 x 64 x 64 oneDNN reaches
// half of its rate, and it computes what the mask throws away.
#if defined(TWILL_BACKENDS_CPU_ATTENTION_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TWILL_BACKENDS_CPU_ATTENTION_PRODUCT_INL_H_
#undef TWILL_BACKENDS_CPU_ATTENTION_PRODUCT_INL_H_
#else
#define TWILL_BACKENDS_CPU_ATTENTION_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/attention/attention_reach.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {

// Vectors of c per row: 16 sums in 32 registers, or 8 in 16.
constexpr int kTileVectors = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM ? 4 : 2;

// c[i, n] = Σ_k a[i, k] b[k, n], where a[i, k] lies at a[i a_row + k a_k]. Rows of b and c are
// padded to whole vectors.
struct Product {
  const float* a;
  std::int64_t a_row;
  std::int64_t a_k;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
};

// Rows [i, i + 4) and kVectors vectors of c from column n on.
template <int kVectors>
HWY_INLINE void product_tile(const Product& p, std::int64_t i, std::int64_t n, Span k,
                             bool accumulate) {
  const F32 d;
  constexpr std::int64_t N = lanes();
  VF sums[kTileRows][kVectors];
  float* HWY_RESTRICT c = p.c + i * p.c_row + n;
  HWY_UNROLL(4)
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = accumulate ? hn::LoadU(d, c + r * p.c_row + v * N) : hn::Zero(d);
  }
  const float* HWY_RESTRICT a = p.a + i * p.a_row + k.begin * p.a_k;
  const float* HWY_RESTRICT b = p.b + k.begin * p.b_row + n;
  for (std::int64_t step = k.begin; step < k.end; ++step, a += p.a_k, b += p.b_row) {
    VF row[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + v * N);
    HWY_UNROLL(4)
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const VF factor = hn::Set(d, a[r * p.a_row]);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(factor, row[v], sums[r][v]);
    }
  }
  HWY_UNROLL(4)
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * p.c_row + v * N);
  }
}

// Rows [i, i + 4) of c, columns `n` (whole vectors).
HWY_INLINE void product_rows(const Product& p, std::int64_t i, Span n, Span k, bool accumulate) {
  constexpr std::int64_t N = lanes();
  std::int64_t column = n.begin;
  for (; column + kTileVectors * N <= n.end; column += kTileVectors * N)
    product_tile<kTileVectors>(p, i, column, k, accumulate);
  if (column + 2 * N <= n.end) {
    product_tile<2>(p, i, column, k, accumulate);
    column += 2 * N;
  }
  if (column < n.end) product_tile<1>(p, i, column, k, accumulate);
}

}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
