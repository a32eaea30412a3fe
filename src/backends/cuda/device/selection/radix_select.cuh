// SPDX-License-Identifier: Apache-2.0
// The best `count` of n elements by a 32-bit key, highest first, of equal keys the lowest index
// first; found without a sort and without the host:
//
//   three times   count_digits_kernel    counts the candidates that share the digits known so far
//                 choose_digit_kernel    by their next digit (11, 11 and 10 bits); finds the digit
//                                        of the last element taken
//   once          count_ties_kernel      counts its equals per chunk of elements, and
//                 exclusive_scan_kernel  before each chunk
//                 mark_kernel            marks[i] = 1 for what is taken
//
// Keys are made anew in every pass from what they depend on: five passes over 1 to 9 bytes per
// element. Counts are integers, whose sums are exact in any order: atomics change no bit.
//
// Keys is a struct with  unsigned read(std::int64_t quad, unsigned (&keys)[4]) const: the keys of
// elements 4 quad to 4 quad + 3, and in bit k whether element 4 quad + k exists and is a candidate.
#pragma once

#include <cstdint>

#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/selection/scan.cuh"

namespace twill::cuda {

inline constexpr int kSelectThreads = 256;
inline constexpr int kMaxDigits = 2048;
inline constexpr int kChunkQuads = 4096;  // whose ties are counted together

using Count = unsigned long long;  // what atomics know of 64 bits

struct Selection {
  Count digits[kMaxDigits];  // candidates by digit; zero between passes
  Count left;                // to be taken of those that share the digits known
  unsigned last;             // the key of the last element taken, as far as it is known
};

// How many to take: `count`, or all candidates but `count`. More than there are means all.
struct SelectionSize {
  Count count;
  bool all_but;
};

template <class Keys>
__global__ __launch_bounds__(kSelectThreads) void count_digits_kernel(Keys keys, std::int64_t quads,
                                                                      int shift, int bits,
                                                                      Selection* selection) {
  __shared__ unsigned counts[kMaxDigits];
  for (int d = static_cast<int>(threadIdx.x); d < kMaxDigits; d += kSelectThreads) counts[d] = 0;
  __syncthreads();

  const unsigned known = shift + bits < 32 ? ~0u << (shift + bits) : 0u;
  const unsigned digit_mask = (1u << bits) - 1, last = selection->last;
  const std::int64_t stride = std::int64_t{gridDim.x} * kSelectThreads;
  for (std::int64_t quad = std::int64_t{blockIdx.x} * kSelectThreads + threadIdx.x; quad < quads;
       quad += stride) {
    unsigned key[4];
    const unsigned candidates = keys.read(quad, key);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if ((candidates >> k & 1u) != 0 && (key[k] & known) == last)
        atomicAdd(&counts[key[k] >> shift & digit_mask], 1u);
  }
  __syncthreads();
  for (int d = static_cast<int>(threadIdx.x); d < kMaxDigits; d += kSelectThreads)
    if (counts[d] > 0) atomicAdd(&selection->digits[d], Count{counts[d]});
}

// One block. The digits lie with the threads from the highest down, two each. `size` is given with
// the first digit alone.
static __global__ __launch_bounds__(kScanThreads) void choose_digit_kernel(Selection* selection,
                                                                           int shift, int bits,
                                                                           bool is_first,
                                                                           SelectionSize size) {
  static_assert(2 * kScanThreads == kMaxDigits, "two digits a thread");
  const int high = kMaxDigits - 1 - 2 * static_cast<int>(threadIdx.x);
  const Count with_high = selection->digits[high], with_low = selection->digits[high - 1];
  Count left = selection->left, total;
  const Count upto = inclusive_scan<kScanThreads>(with_high + with_low, total);  // has a barrier
  selection->digits[high] = selection->digits[high - 1] = 0;
  if (is_first) {
    left = min(size.count, total);
    if (size.all_but) left = total - left;
  }

  const Count above = upto - with_high - with_low;
  if (left == 0) {
    // Nothing to take: no key is above this one, and none of its equals is taken.
    if (threadIdx.x > 0) return;
    selection->left = 0;
    selection->last |= ((1u << bits) - 1) << shift;
  } else if (above < left && left <= upto) {
    const bool takes_low = left > above + with_high;
    selection->left = left - above - (takes_low ? with_high : 0);
    selection->last |= static_cast<unsigned>(takes_low ? high - 1 : high) << shift;
  }
}

// ties[chunk], a block per chunk.
template <class Keys>
__global__ __launch_bounds__(kSelectThreads) void count_ties_kernel(Keys keys, std::int64_t quads,
                                                                    const Selection* selection,
                                                                    Count* ties) {
  const unsigned last = selection->last;
  const std::int64_t first = std::int64_t{blockIdx.x} * kChunkQuads;
  int count = 0;
  for (int q = static_cast<int>(threadIdx.x); q < kChunkQuads; q += kSelectThreads) {
    if (first + q >= quads) break;
    unsigned key[4];
    const unsigned candidates = keys.read(first + q, key);
#pragma unroll
    for (int k = 0; k < 4; ++k) count += (candidates >> k & 1u) != 0 && key[k] == last ? 1 : 0;
  }
  count = block_sum<kSelectThreads>(count);
  if (threadIdx.x == 0) ties[blockIdx.x] = static_cast<Count>(count);
}

// ties[chunk] is now the number of ties before the chunk. A block per chunk; it counts ties one by
// one only where it holds both ties that are taken and ties that are not.
template <class Keys>
__global__ __launch_bounds__(kSelectThreads) void mark_kernel(Keys keys, std::int64_t quads,
                                                              const Selection* selection,
                                                              const Count* ties,
                                                              std::uint8_t* marks) {
  const unsigned last = selection->last;
  const Count before = ties[blockIdx.x], behind = ties[blockIdx.x + 1], limit = selection->left;
  const bool counts_ties = before < limit && limit < behind;
  // Ties of this chunk that are taken: all, none, or this many.
  int left = counts_ties ? static_cast<int>(limit - before) : 0;
  const std::int64_t first = std::int64_t{blockIdx.x} * kChunkQuads;
  for (int begin = 0; begin < kChunkQuads; begin += kSelectThreads) {
    const std::int64_t quad = first + begin + threadIdx.x;
    unsigned key[4] = {}, candidates = 0;
    if (quad < quads) candidates = keys.read(quad, key);
    unsigned above = 0, equal = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      above |= unsigned{key[k] > last} << k;
      equal |= unsigned{key[k] == last} << k;
    }
    above &= candidates;
    equal &= candidates;
    if (counts_ties) {
      int own = __popc(equal), total;
      int place = inclusive_scan<kSelectThreads>(own, total) - own;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if ((equal >> k & 1u) == 0) continue;
        if (place >= left) equal &= ~(1u << k);
        ++place;
      }
      left -= min(left, total);
    } else if (before >= limit) {
      equal = 0;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (((above | equal) >> k & 1u) != 0) marks[4 * quad + k] = 1;
  }
}

}  // namespace twill::cuda
