// SPDX-License-Identifier: Apache-2.0
// The bits of base/rng.h on the device: Philox4x32 with ten rounds.
#pragma once

#include <cstdint>

namespace twill::cuda {

__device__ __forceinline__ uint4 philox4x32(uint4 counter, std::uint32_t key0, std::uint32_t key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = __umulhi(0xD251'1F53u, counter.x), low0 = 0xD251'1F53u * counter.x;
    const std::uint32_t high1 = __umulhi(0xCD9E'8D57u, counter.z), low1 = 0xCD9E'8D57u * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key0, low1, high0 ^ counter.w ^ key1, low0);
    key0 += 0x9E37'79B9u;
    key1 += 0xBB67'AE85u;
  }
  return counter;
}

// random_bits() of base/rng.h; `purpose` is a number of its Purpose.
__device__ __forceinline__ uint4 random_bits(std::uint64_t seed, std::uint32_t purpose,
                                             std::uint32_t step, std::uint64_t element) {
  return philox4x32(make_uint4(static_cast<std::uint32_t>(element),
                               static_cast<std::uint32_t>(element >> 32), step, purpose),
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

}  // namespace twill::cuda
