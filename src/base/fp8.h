// SPDX-License-Identifier: Apache-2.0
// The two 8-bit floats of the OCP standard as storage: e4m3 (no infinity, largest 448) and e5m2
// (largest finite 57344). From f32 they round to nearest even, with subnormals, and saturate at the
// largest finite number, infinity included; NaN stays NaN. To f32 they are exact.
#pragma once

#include <bit>
#include <cstdint>

namespace twill {

struct Fp8E4m3 {
  static constexpr int kFractionBits = 3, kBias = 7;
  static constexpr std::uint32_t kMaxCode = 0x7e, kInfinityCode = 0x80;  // beyond all codes: none
  static constexpr float kMax = 448.0f;

  std::uint8_t bits = 0;
  friend constexpr bool operator==(Fp8E4m3, Fp8E4m3) = default;
};

struct Fp8E5m2 {
  static constexpr int kFractionBits = 2, kBias = 15;
  static constexpr std::uint32_t kMaxCode = 0x7b, kInfinityCode = 0x7c;
  static constexpr float kMax = 57344.0f;

  std::uint8_t bits = 0;
  friend constexpr bool operator==(Fp8E5m2, Fp8E5m2) = default;
};

namespace detail {

// What takes an f32's bits to those of a format: the bits of fraction it loses, the difference of
// the exponents' biases, its smallest normal number, and the f32 whose last bit is worth the
// format's smallest number.
template <class Fp8>
struct Fp8Steps {
  static constexpr int kShift = 23 - Fp8::kFractionBits;
  static constexpr std::uint32_t kRebias = (127u - Fp8::kBias) << 23;
  static constexpr std::uint32_t kMinNormal = kRebias + (1u << 23);
  static constexpr std::uint32_t kLastBit = (151u - Fp8::kBias - Fp8::kFractionBits) << 23;
};

}  // namespace detail

template <class Fp8>
constexpr Fp8 to_fp8(float v) {
  using Steps = detail::Fp8Steps<Fp8>;
  const auto bits = std::bit_cast<std::uint32_t>(v);
  const std::uint32_t sign = bits >> 24 & 0x80u, magnitude = bits & 0x7fff'ffffu;
  const auto with_sign = [&](std::uint32_t code) {
    return Fp8{static_cast<std::uint8_t>(sign | code)};
  };
  if (magnitude > 0x7f80'0000u) return with_sign(0x7fu);  // NaN
  if (magnitude >= std::bit_cast<std::uint32_t>(Fp8::kMax)) return with_sign(Fp8::kMaxCode);
  if (magnitude >= Steps::kMinNormal) {
    const std::uint32_t rebased = magnitude - Steps::kRebias;
    const std::uint32_t half = (1u << (Steps::kShift - 1)) - 1u;
    return with_sign((rebased + half + (rebased >> Steps::kShift & 1u)) >> Steps::kShift);
  }
  // Subnormal: in the sum the last bit of an f32 is worth the format's smallest number; the
  // addition rounds to nearest even.
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(Steps::kLastBit);
  return with_sign(std::bit_cast<std::uint32_t>(sum) - Steps::kLastBit);
}

template <class Fp8>
requires requires { Fp8::kMaxCode; }
constexpr float to_float(Fp8 v) {
  using Steps = detail::Fp8Steps<Fp8>;
  const std::uint32_t sign = (v.bits & 0x80u) << 24, code = v.bits & 0x7fu;
  const auto with_sign = [&](std::uint32_t magnitude) {
    return std::bit_cast<float>(sign | magnitude);
  };
  if (code == Fp8::kInfinityCode) return with_sign(0x7f80'0000u);
  if (code > Fp8::kMaxCode) return with_sign(0x7fc0'0000u);
  if (code >> Fp8::kFractionBits != 0) return with_sign((code << Steps::kShift) + Steps::kRebias);
  const float above = std::bit_cast<float>(Steps::kLastBit + code);  // exact in both directions
  return with_sign(std::bit_cast<std::uint32_t>(above - std::bit_cast<float>(Steps::kLastBit)));
}

}  // namespace twill
