// SPDX-License-Identifier: Apache-2.0
// An unbiased random 2:4 sample of a gradient along tokens (MVUE).
//
//   x     (T, C)       a group is four consecutive tokens 4 g … 4 g + 3 of one channel; tokens
//                      beyond T count as zeros, so any T is taken
//   y     (T, C)       the sample with explicit zeros; may be x
//   mask  (T, C) u8    optional: the two kept positions of each group (of a last short group: those
//                      of them below T)
//
// x and y are f32 or bf16 (reference: also f64). A bf16 x is sampled as the f32 numbers it holds:
// below, the type of x is then f32, and what is kept is rounded to bf16 at the end.
//
// Law kExact: least variance among unbiased samples with two entries. Per group, b = |x|:
//
//   R = (min(b0,b1) + min(b2,b3)) + min(max(b0,b1), max(b2,b3))       sum of the three smaller ones
//   cap = R, or the smallest normal number where R = 0;  h = (R + min(max b, cap)) / 2
//   c0 = min(b0,cap), c1 = c0 + min(b1,cap), c2 = c1 + min(b2,cap);  t1 = u h, t2 = t1 + h
//   i = c1 <= t1 ? 2 : c0 <= t1 ? 1 : 0;  j = c2 <= t2 ? 3 : c1 <= t2 ? 2 : 1;  if i = j: i = j - 1
//   kept: i and j; y = sign(x) max(|x|, h), and 0 where x = 0
//
// An all-zero group keeps positions 2 and 3, which is what the lines above give: the note's
// sampler keeps 0 and 1, by a branch of its own; the values are the same zeros. No division, no
// branch, every operation rounded to the type of x in the order written, no fused multiply-add:
// bit-exact everywhere.
//
// Law kTwoDraw, as the authors of FST ran it, without the authors' epsilon on every b: draw i with
// probability b_i / S, then j != i with b_j / (S - b_i); y = x / p with the inclusion
// p_i = q_i (1 + Σ_{j != i} q_j / (1 - q_j)), q = b / S. In f64 throughout and rounded once, so
// that no cancellation biases it: S = ((b0 + b1) + b2) + b3, S - b_i as the direct sum of the
// others in index order. i is the first index with u S < running sum (else the last with b > 0), j
// likewise among the others with u2. Where fewer than two entries are not zero they are kept as
// they are, with the lowest other indices.
// mvue24_exact and mvue24_two_draw below are the two laws in code, one group at a time.
//
// Random numbers: words[w] = philox4x32({token / 16, channel, step, purpose | stream << 8}, seed)
// belongs to group 4 (token / 16) + w: one call serves sixteen tokens of a channel. Of a piece of a longer x,
// first_token, a multiple of 16, is the place of its first token there: the pieces' draws are those of the
// whole, however it is cut. u = (word >> 9)
// 2^-23, purpose kMvue; u2 the same with purpose kMvueSecond.
//
// A group with an entry that is not finite is not sampled, under either law: the two largest
// magnitudes (NaN = +Inf, lowest index first) are kept as they are. The note has no such rule; it
// is ours, so that NaN and Inf reach the trainer's finite check.
#pragma once

#include <cstdint>
#include <limits>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

enum class MvueLaw : std::uint8_t { kExact, kTwoDraw };

struct Mvue24Args {
  ConstView x;
  View y;
  View mask = {};
  MvueLaw law = MvueLaw::kExact;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;  // the micro-step of the run
  // (1) i32, optional: where the step's bits stand when the work runs, for recorded work.
  ConstView step_at = {};

  // For backends that share the host's memory.
  std::uint32_t step_now() const {
    return step_at ? static_cast<std::uint32_t>(*step_at.as<std::int32_t>()) : step;
  }
  std::uint32_t stream = 0;  // the layer, below 2^24
  std::int64_t first_token = 0;

  std::int64_t first_block() const { return first_token / 16; }
};

void validate(const Mvue24Args& args);
void mvue24(const Context& context, const Mvue24Args& args);

// What a draw keeps of a group of four: two positions and their values.
template <class T>
struct MvuePair {
  int first, second;
  T first_value, second_value;

  constexpr bool keeps(int k) const { return k == first || k == second; }
  constexpr T value_at(int k) const {
    return k == first ? first_value : k == second ? second_value : T{0};
  }
};

namespace detail {

template <class T>
constexpr T magnitude(T a) {
  return a < T{0} ? -a : a == T{0} ? T{0} : a;  // -0 becomes +0
}
template <class T>
constexpr T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T larger(T a, T b) {
  return a < b ? b : a;
}
template <class T>
constexpr bool all_finite(const T (&a)[4]) {
  return a[0] - a[0] == T{0} && a[1] - a[1] == T{0} && a[2] - a[2] == T{0} && a[3] - a[3] == T{0};
}

template <class T>
constexpr MvuePair<T> unchanged(const T (&a)[4], int i, int j) {
  return {i, j, a[i], a[j]};
}

// The two largest magnitudes as they are: what is left of a group that is not finite.
template <class T>
constexpr MvuePair<T> largest_two(const T (&a)[4]) {
  const auto above = [&](int i, int j) {  // NaN is the largest, Inf equal to it
    const bool i_top = !(a[i] - a[i] == T{0}), j_top = !(a[j] - a[j] == T{0});
    return i_top || j_top ? i_top && !j_top : magnitude(a[i]) > magnitude(a[j]);
  };
  int first = 0;
  for (int k = 1; k < 4; ++k)
    if (above(k, first)) first = k;
  int second = first == 0 ? 1 : 0;
  for (int k = second + 1; k < 4; ++k)
    if (k != first && above(k, second)) second = k;
  return unchanged(a, first, second);
}

}  // namespace detail

// Law kExact for one group and its uniform number.
template <class T>
constexpr MvuePair<T> mvue24_exact(const T (&a)[4], T u) {
  using detail::larger, detail::magnitude, detail::smaller;
  if (!detail::all_finite(a)) return detail::largest_two(a);
  const T b0 = magnitude(a[0]), b1 = magnitude(a[1]), b2 = magnitude(a[2]), b3 = magnitude(a[3]);
  const T rest = (smaller(b0, b1) + smaller(b2, b3)) + smaller(larger(b0, b1), larger(b2, b3));
  const T cap = rest == T{0} ? std::numeric_limits<T>::min() : rest;
  const T h = (rest + smaller(larger(larger(b0, b1), larger(b2, b3)), cap)) / T{2};
  const T c0 = smaller(b0, cap), c1 = c0 + smaller(b1, cap), c2 = c1 + smaller(b2, cap);
  const T t1 = u * h, t2 = t1 + h;
  int i = c1 <= t1 ? 2 : c0 <= t1 ? 1 : 0;
  const int j = c2 <= t2 ? 3 : c1 <= t2 ? 2 : 1;
  if (i == j) i = j - 1;
  const auto value = [&](T x) {
    const T size = larger(magnitude(x), h);
    return x == T{0} ? T{0} : x < T{0} ? -size : size;
  };
  return {i, j, value(a[i]), value(a[j])};
}

// Law kTwoDraw for one group and its two uniform numbers.
template <class T>
constexpr MvuePair<T> mvue24_two_draw(const T (&a)[4], double u, double u2) {
  if (!detail::all_finite(a)) return detail::largest_two(a);
  double b[4] = {}, others[4] = {}, odds[4] = {};
  int num_nonzero = 0, last = 0;
  for (int k = 0; k < 4; ++k) {
    b[k] = detail::magnitude(static_cast<double>(a[k]));
    if (b[k] > 0.0) ++num_nonzero, last = k;
  }
  if (num_nonzero < 2) return detail::unchanged(a, last, last == 0 ? 1 : 0);
  for (int k = 0; k < 4; ++k) {
    for (int other = 0; other < 4; ++other)
      if (other != k) others[k] += b[other];
    odds[k] = b[k] / others[k];  // q_k / (1 - q_k)
  }

  // The first position but `without` at which the running sum passes `target`, else the last one
  // that is not zero. A zero never is the first: its sum is that of its neighbour before it.
  const auto draw = [&](double target, int without) {
    double sums[4] = {}, sum = 0.0;
    int found = 0;
    for (int k = 0; k < 4; ++k) {
      const double size = k == without ? 0.0 : b[k];
      sums[k] = sum += size;
      found = size > 0.0 ? k : found;
    }
    for (int k = 3; k >= 0; --k) found = target < sums[k] ? k : found;
    return found;
  };
  const double total = ((b[0] + b[1]) + b[2]) + b[3];
  const auto value = [&](int i) {
    double sum = 0.0;
    for (int k = 0; k < 4; ++k)
      if (k != i) sum += odds[k];
    return static_cast<T>(static_cast<double>(a[i]) / (b[i] / total * (1.0 + sum)));
  };
  const int i = draw(u * total, -1), j = draw(u2 * others[i], i);
  return {i, j, value(i), value(j)};
}

}  // namespace twill
