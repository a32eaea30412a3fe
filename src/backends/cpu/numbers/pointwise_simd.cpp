// SPDX-License-Identifier: Apache-2.0
// Element-wise loops in SIMD. An element is loaded before its place is stored to, and its bits do
// not depend on where a range begins.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/numbers/pointwise_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/numbers/pointwise_simd.h"
#include "backends/cpu/philox-inl.h"
#include "backends/cpu/simd-inl.h"
#include "base/rng.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

void add_terms_impl(const float* const (&terms)[3], float* y, std::int64_t n) {
  const float* present[3] = {};
  int num_present = 0;
  for (const float* term : terms)
    if (term != nullptr) present[num_present++] = term;
  if (num_present == 0) return;
  for (std::int64_t i = 0; i < n; i += lanes()) {
    VF sum = load(present[0] + i, n - i);  // not 0 + …, which would lose the sign of -0
    for (int k = 1; k < num_present; ++k) sum = hn::Add(sum, load(present[k] + i, n - i));
    store(sum, y + i, n - i);
  }
}

#if HWY_TARGET == HWY_SCALAR

// 32 x 32 -> 64 bit products need more than one lane.
void dropout_impl(const DropoutRange& range) {
  const DropoutMask& mask = range.mask;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const Philox4 words =
        random_bits(mask.seed, Purpose::kDropout, mask.step, mask.first_element + index / 4);
    const float kept = words[index % 4] >> 8 >= mask.threshold ? range.x[i] * range.scale : 0.0f;
    range.y[i] = range.addend != nullptr ? range.addend[i] + kept : kept;
  }
}

#else

// Philox of consecutive elements, one per 64-bit lane, and its words in the order of the tensor's
// elements.
HWY_INLINE void philox_words(const DropoutMask& mask, std::uint64_t element,
                             std::uint32_t* HWY_RESTRICT words) {
  const U64 d;
  const VU64 elements = hn::Add(hn::Set(d, element), hn::Iota(d, 0));
  const PhiloxLanes w = philox_lanes({elements, hn::ShiftRight<32>(elements), hn::Set(d, mask.step),
                                      hn::Set(d, static_cast<std::uint64_t>(Purpose::kDropout))},
                                     mask.seed);
  hn::StoreInterleaved2(join_lower(w.c0, w.c1), join_lower(w.c2, w.c3), d,
                        reinterpret_cast<std::uint64_t*>(words));
}

// One vector of elements, of which `count` are left.
HWY_INLINE void dropout_vector(const DropoutRange& range, const std::uint32_t* words,
                               std::int64_t i, std::int64_t count) {
  const hn::RebindToSigned<F32> di;
  const auto bits =
      hn::BitCast(di, hn::ShiftRight<8>(hn::Load(hn::RebindToUnsigned<F32>(), words)));
  const auto drop = hn::Lt(bits, hn::Set(di, static_cast<std::int32_t>(range.mask.threshold)));
  const VF scaled = hn::Mul(load(range.x + i, count), set(range.scale));
  VF y = hn::IfThenZeroElse(hn::RebindMask(F32(), drop), scaled);
  if (range.addend != nullptr) y = hn::Add(load(range.addend + i, count), y);
  store(y, range.y + i, count);
}

void dropout_impl(const DropoutRange& range) {
  HWY_ALIGN std::uint32_t words[2 * hn::MaxLanes(F32())];
  constexpr std::int64_t N = lanes();
  for (std::int64_t i = range.begin; i < range.end; i += 2 * N) {
    philox_words(range.mask, range.mask.first_element + static_cast<std::uint64_t>(i) / 4, words);
    dropout_vector(range, words, i, range.end - i);
    if (i + N < range.end) dropout_vector(range, words + N, i + N, range.end - i - N);
  }
}

#endif  // HWY_SCALAR

void rotate_impl(const RotateToken& token) {
  const std::int64_t half = token.head_dim / 2;
  const VF sign = set(token.sign);
  for (std::int64_t head = 0; head < token.num_heads; ++head) {
    float* x = token.x + head * token.head_dim;
    for (std::int64_t i = 0; i < half; i += lanes()) {
      const std::int64_t count = half - i;
      const VF cosine = load(token.cosines + i, count);
      const VF sine = hn::Mul(load(token.sines + i, count), sign);
      const VF u = load(x + i, count), v = load(x + half + i, count);
      store(hn::NegMulAdd(v, sine, hn::Mul(u, cosine)), x + i, count);
      store(hn::MulAdd(u, sine, hn::Mul(v, cosine)), x + half + i, count);
    }
  }
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(add_terms_impl);
HWY_EXPORT(dropout_impl);
HWY_EXPORT(rotate_impl);

void add_terms(const float* const (&terms)[3], float* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_terms_impl)(terms, y, n);
}
void dropout_range(const DropoutRange& range) { HWY_DYNAMIC_DISPATCH(dropout_impl)(range); }
void rotate_token(const RotateToken& token) { HWY_DYNAMIC_DISPATCH(rotate_impl)(token); }

}  // namespace twill::cpu
#endif  // HWY_ONCE
