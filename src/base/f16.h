// SPDX-License-Identifier: Apache-2.0
// IEEE half precision as storage: five bits of exponent, ten of fraction. To f32 it is exact; from
// f32 it rounds to nearest even, with subnormals; NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace twill {

struct F16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(F16, F16) = default;
};

constexpr float to_float(F16 v) {
  const std::uint32_t sign = (v.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = v.bits & 0x7fffu;
  if (magnitude >= 0x7c00u)  // infinity or NaN: the exponent is all ones in f32 too
    return std::bit_cast<float>(sign | 0x7f80'0000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u)  // normal: the bias grows from 15 to 127
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  const float value = static_cast<float>(magnitude) * 0x1p-24f;  // zero or subnormal: exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

constexpr F16 to_f16(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fff'ffffu;
  const auto with_sign = [&](std::uint32_t half) {
    return F16{static_cast<std::uint16_t>(sign | half)};
  };
  if (magnitude > 0x7f80'0000u) return with_sign(0x7e00u | (magnitude >> 13 & 0x3ffu));  // NaN
  if (magnitude >= 0x477f'f000u) return with_sign(0x7c00u);  // from 65520 on: infinity
  if (magnitude >= 0x3880'0000u) {                           // from 2^-14 on: normal
    const std::uint32_t rebased = magnitude - (112u << 23);
    return with_sign((rebased + 0xfffu + (rebased >> 13 & 1u)) >> 13);
  }
  // Subnormal: adding 0.5 moves the last kept bit, 2^-24, to the end of an f32 whose exponent is
  // fixed; the addition rounds to nearest even.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return with_sign(std::bit_cast<std::uint32_t>(shifted) - 0x3f00'0000u);
}

}  // namespace twill
