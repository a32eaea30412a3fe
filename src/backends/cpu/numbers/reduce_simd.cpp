// SPDX-License-Identifier: Apache-2.0
// Sums in SIMD. The order of additions depends on the lengths and on the width of a vector alone.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/numbers/reduce_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/numbers/reduce_simd.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

// kVectors neighbouring vectors from column j on. Even and odd rows have sums of their own: twice
// as many additions in flight.
template <int kVectors>
HWY_INLINE void sum_group(const ColumnStrip& s, std::int64_t j) {
  constexpr std::int64_t N = lanes();
  const std::int64_t count = s.end - j;
  VF even[kVectors], odd[kVectors];
  for (int k = 0; k < kVectors; ++k) even[k] = odd[k] = zero();
  const float* x = s.x + j;
  std::int64_t row = 0;
  for (; row + 2 <= s.rows; row += 2, x += 2 * s.cols)
    for (int k = 0; k < kVectors; ++k) {
      even[k] = hn::Add(even[k], load(x + k * N, count - k * N));
      odd[k] = hn::Add(odd[k], load(x + s.cols + k * N, count - k * N));
    }
  for (int k = 0; k < kVectors; ++k) {
    if (row < s.rows) even[k] = hn::Add(even[k], load(x + k * N, count - k * N));
    VF sum = hn::Add(even[k], odd[k]);
    float* to = s.sum + j + k * N;
    if (s.accumulate) sum = hn::Add(load(to, count - k * N), sum);
    store(sum, to, count - k * N);
  }
}

void sum_columns_impl(const ColumnStrip& strip) {
  constexpr std::int64_t kGroup = 4 * lanes();
  std::int64_t j = strip.begin;
  for (; j + kGroup <= strip.end; j += kGroup) sum_group<4>(strip, j);
  for (; j < strip.end; j += lanes()) sum_group<1>(strip, j);
}

double sum_of_squares_impl(const float* x, std::int64_t n) {
  using F64 = hn::ScalableTag<double>;
  const F64 d;
  const hn::Rebind<float, F64> d32;
  constexpr auto N = static_cast<std::int64_t>(hn::MaxLanes(F64()));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto add_square = [&](auto sum, const float* from) HWY_ATTR {
    const auto v = hn::PromoteTo(d, hn::LoadU(d32, from));
    return hn::MulAdd(v, v, sum);
  };
  std::int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    s0 = add_square(s0, x + i);
    s1 = add_square(s1, x + i + N);
    s2 = add_square(s2, x + i + 2 * N);
    s3 = add_square(s3, x + i + 3 * N);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(sum_columns_impl);
HWY_EXPORT(sum_of_squares_impl);

void sum_columns(const ColumnStrip& strip) { HWY_DYNAMIC_DISPATCH(sum_columns_impl)(strip); }
double sum_of_squares(const float* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_impl)(x, n);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
