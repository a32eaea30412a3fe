// SPDX-License-Identifier: Apache-2.0
// Data for ops that select: ties, zeros of both signs, NaN, Inf, denormals and numbers whose sums
// overflow; and masks.
#pragma once

#include <cmath>
#include <limits>

#include "support/tables.h"

namespace twill {

// Half small integers, so that ties are everywhere, half specials.
inline Values awkward_values(Random& random, std::int64_t count) {
  using Limits = std::numeric_limits<float>;
  const double specials[] = {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             Limits::quiet_NaN(),
                             -Limits::quiet_NaN(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::denorm_min(),
                             -3.0 * Limits::denorm_min(),
                             Limits::max(),
                             -Limits::max()};
  Values values = random.integers(count, -3, 3);
  const Values picks = random.integers(count, 0, 23);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (picks[i] < 12.0) values[i] = specials[static_cast<std::size_t>(picks[i])];
  return values;
}

inline Values random_mask(Random& random, std::int64_t count) {
  return random.integers(count, 0, 1);
}

// Values of f32 that bf16 rounds, up and down and, in ties, to even.
inline Values unrounded(Random& random, std::int64_t count) {
  Values values = random.normal(count);
  const Values rest = random.integers(count, -2, 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    int exponent = 0;
    static_cast<void>(std::frexp(values[i], &exponent));
    values[i] = static_cast<float>(values[i] + std::ldexp(rest[i], exponent - 10));  // quarters
  }
  return values;
}

// What a mask holds before the op: neither 0 nor 1.
inline Values mask_rubbish(std::int64_t count) {
  return Values(static_cast<std::size_t>(count), 7.0);
}

}  // namespace twill
