// SPDX-License-Identifier: Apache-2.0
// bfloat16 as storage: the upper half of an f32. Conversion rounds to nearest even; NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace twill {

struct Bf16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(Bf16, Bf16) = default;
};

constexpr float to_float(Bf16 v) { return std::bit_cast<float>(std::uint32_t{v.bits} << 16); }

constexpr Bf16 to_bf16(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  const bool is_nan = (bits & 0x7fff'ffffu) > 0x7f80'0000u;
  // A NaN whose payload sits in the lower half would become an infinity: force the quiet bit.
  if (is_nan) return {static_cast<std::uint16_t>((bits >> 16) | 0x0040u)};
  const std::uint32_t round_to_even = 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<std::uint16_t>((bits + round_to_even) >> 16)};
}

}  // namespace twill
