// SPDX-License-Identifier: Apache-2.0
// An unbiased random 2:4 sample of a gradient along tokens (MVUE).
//
//   x     (T, C)       a group is four consecutive tokens 4 g … 4 g + 3 of one channel; tokens beyond
//                      T count as zeros, so any T is taken
//   y     (T, C)       the sample with explicit zeros; may be x
//   mask  (T, C) u8    optional: the two kept positions of each group (of a last short group: those
//                      of them below T)
//
// Law kExact: least variance among unbiased samples with two entries. Per group, b = |x|:
//
//   R = (min(b0,b1) + min(b2,b3)) + min(max(b0,b1), max(b2,b3))       sum of the three smaller ones
//   cap = R, or the smallest normal number where R = 0;  h = (R + min(max b, cap)) / 2
//   c0 = min(b0,cap), c1 = c0 + min(b1,cap), c2 = c1 + min(b2,cap);  t1 = u h, t2 = t1 + h
//   i = c1 <= t1 ? 2 : c0 <= t1 ? 1 : 0;  j = c2 <= t2 ? 3 : c1 <= t2 ? 2 : 1;  where i = j: i = j - 1
//   kept: i and j; y = sign(x) max(|x|, h), and 0 where x = 0
//
// An all-zero group keeps positions 2 and 3. No division, no branch, every operation rounded to the
// type of x in the order written, no fused multiply-add: bit-exact everywhere.
//
// Law kTwoDraw, as the authors of FST ran it: draw i with probability b_i / S, then j != i with
// b_j / (S - b_i); y = x / p with the inclusion p_i = q_i (1 + Σ_{j != i} q_j / (1 - q_j)), q = b / S.
// In f64 throughout and rounded once, so that no cancellation biases it: S = ((b0 + b1) + b2) + b3,
// S - b_i as the direct sum of the others in index order. i is the first index with
// u S < running sum (else the last with b > 0), j likewise among the others with u2. Where fewer
// than two entries are not zero they are kept as they are, with the lowest other indices.
//
// Random numbers: words[w] = philox4x32({token / 16, channel, step, purpose | stream << 8}, seed)
// belongs to group 4 (token / 16) + w: one call serves sixteen tokens of a channel. u = (word >> 9)
// 2^-23, purpose kMvue; u2 the same with purpose kMvueSecond.
//
// A group with an entry that is not finite is not sampled: the two largest magnitudes (NaN = +Inf,
// lowest index first) are kept as they are.
#pragma once

#include <cstdint>

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
  std::uint32_t step = 0;    // the micro-step of the run
  std::uint32_t stream = 0;  // the layer, below 2^24
};

void validate(const Mvue24Args& args);
void mvue24(const Context& context, const Mvue24Args& args);

}  // namespace twill
