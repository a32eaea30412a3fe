// SPDX-License-Identifier: Apache-2.0
// Every random number of Twill is philox(seed, purpose, step, element): no generator state, so the
// same bits come out on every backend, thread count and resume.
//
// The function is Philox4x32 with ten rounds (Salmon et al., SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace twill {

using Philox4 = std::array<std::uint32_t, 4>;

namespace detail {
constexpr std::uint32_t kPhiloxM0 = 0xD251'1F53u, kPhiloxM1 = 0xCD9E'8D57u;
constexpr std::uint32_t kPhiloxW0 = 0x9E37'79B9u, kPhiloxW1 = 0xBB67'AE85u;
}  // namespace detail

constexpr Philox4 philox4x32(Philox4 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{detail::kPhiloxM0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{detail::kPhiloxM1} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(p0)};
    key0 += detail::kPhiloxW0;
    key1 += detail::kPhiloxW1;
  }
  return counter;
}

// What a random number is for. The values are part of the format of a run: never renumber.
enum class Purpose : std::uint32_t {
  kInit = 1,
  kShuffle = 2,
  kDropout = 3,
  kSample = 4,
  kTest = 5,
  kSplit = 6,  // which documents validate
  kMvue = 7,   // the draw of ops/selection/mvue24.h
  kMvueSecond = 8,
  kGrow = 9,      // which weights a topology grows by chance
  kOrder = 10,    // a fixed permutation of tokens
  kCluster = 11,  // first centroids of neurons
  kMoments = 12   // the rounding of bf16 moments in ops/update/adamw.h
};

// Four 32-bit words for one element. `step` is the optimizer step, or whatever plays its part.
constexpr Philox4 random_bits(std::uint64_t seed, Purpose purpose, std::uint32_t step,
                              std::uint64_t element) {
  return philox4x32({static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32),
                     step, static_cast<std::uint32_t>(purpose)},
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

// Uniform in [0, 1) with 24 bits: every value is exact in f32.
constexpr float unit_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Standard normal by Box-Muller from two words.
float normal_float(std::uint32_t bits0, std::uint32_t bits1);

}  // namespace twill
