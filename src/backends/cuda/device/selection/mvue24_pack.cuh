// SPDX-License-Identifier: Apache-2.0
// What kernels share that sample and pack: where a thread's rows lie, how it reads and writes them, and
// the way out for numbers that mvue24_pair.cuh does not take.
#pragma once

#include <cstdint>

#include "backends/cuda/device/selection/mvue24_block.cuh"
#include "backends/cuda/device/selection/mvue24_draw.cuh"
#include "backends/cuda/device/selection/mvue24_pair.cuh"
#include "backends/cuda/device/vec.cuh"

namespace twill::cuda {

inline constexpr int kSampleChannels = 4;        // of a thread: two words of bf16
inline constexpr std::int64_t kSampleSide = 64;  // tokens and channels of a block: kAtom

// Where a thread's sixteen tokens of four channels lie.
struct SamplePlace {
  std::int64_t block;    // of sixteen tokens
  std::int64_t channel;  // the first
  int tokens;            // that exist, at most sixteen
};

// Of the thread whose tokens and channels begin at k_in and m_in of the block's atom.
__device__ __forceinline__ SamplePlace sample_place(int m_in, int k_in, std::int64_t tokens) {
  const std::int64_t token = std::int64_t{blockIdx.y} * kSampleSide + k_in;
  return {token / kMvueTokens, std::int64_t{blockIdx.x} * kSampleSide + m_in,
          static_cast<int>(min(max(tokens - token, std::int64_t{0}), std::int64_t{kMvueTokens}))};
}

// The sum of a channel of an atom, of sums that threads have left over sixteen tokens of four channels:
// thread t in place t.
__device__ __forceinline__ float channel_sum(const float4* of_threads, unsigned channel) {
  const auto* sums = reinterpret_cast<const float*>(of_threads) + channel;
  return ((sums[0] + sums[kSampleSide]) + sums[2 * kSampleSide]) + sums[3 * kSampleSide];
}

// The code of ops/packing/pack24.h for two kept entries of four, bit k of `set` for entry k. As text from
// set 3 on: 0x4, -, 0x8, 0x9, -, -, 0xC, 0xD, -, 0xE.
__device__ __forceinline__ unsigned code_of(unsigned set) {
  constexpr unsigned kLow = 0x4u << 12 | 0x8u << 20 | 0x9u << 24;
  constexpr unsigned kHigh = 0xCu << 4 | 0xDu << 8 | 0xEu << 16;
  return ((set & 8u) != 0 ? kHigh : kLow) >> (4 * (set & 7u)) & 0xfu;
}

// Sixteen tokens of one channel, of any numbers; `values` of them may be written. It draws for itself:
// inlined into a caller, ten rounds of keys would be kept for it.
static __device__ __noinline__ unsigned sample_any(const __nv_bfloat16* x, __nv_bfloat16* values,
                                                   std::int64_t channels, SamplePlace at,
                                                   MvueDraws draws) {
  const uint4 random = draws.words(at.block, at.channel, draws.tag);
  unsigned codes = 0;
  for (int group = 0; group < 4; ++group) {
    float group_x[4] = {}, y[4];
    for (int k = 0; k < 4; ++k)
      if (4 * group + k < at.tokens) group_x[k] = to_f32(x[(4 * group + k) * channels]);
    const unsigned set = mvue_exact(group_x, mvue_uniform(word_of(random, group)), y);
    codes |= code_of(set) << (4 * group);
    if (4 * group >= at.tokens) continue;
    __nv_bfloat16* pair = values + 2 * group * channels;
    pair[0] = from_f32<__nv_bfloat16>((set & 1u) != 0 ? y[0] : (set & 2u) != 0 ? y[1] : y[2]);
    pair[channels] = from_f32<__nv_bfloat16>((set & 8u) != 0   ? y[3]
                                             : (set & 4u) != 0 ? y[2]
                                                               : y[1]);
  }
  return codes;
}

// Of memory that nobody writes while the kernel runs.
__device__ __forceinline__ void load8_constant(const __nv_bfloat16* from, unsigned (&words)[2]) {
  const uint2 bits = __ldg(reinterpret_cast<const uint2*>(from));
  words[0] = bits.x, words[1] = bits.y;
}

__device__ __forceinline__ void load8(const __nv_bfloat16* from, unsigned (&words)[2]) {
  const uint2 bits = *reinterpret_cast<const uint2*>(from);
  words[0] = bits.x, words[1] = bits.y;
}

// By name: of a plain store of two numbers the compiler makes two.
__device__ __forceinline__ void store8(__nv_bfloat16* to, const unsigned (&words)[2]) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
               "r"(words[0]), "r"(words[1])
               : "memory");
}

}  // namespace twill::cuda
