// SPDX-License-Identifier: Apache-2.0
// Instructions of Ampere and later that a 2:4 product is made of: reads of 8 x 8 matrices, copies that
// supply zeros, and mma.sp.
#pragma once

#include "backends/cuda/device/async_copy.cuh"

namespace twill::cuda {

// Four 8 x 8 matrices of 16-bit elements, whose rows lanes 0 to 7, 8 to 15, ... point to. A lane gets
// elements 2 (lane mod 4) and one on of row lane / 4; with kTransposed of that column.
template <bool kTransposed>
__device__ __forceinline__ uint4 read_matrices(SharedAddress row) {
  uint4 bits;
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                 : "r"(row)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                 : "r"(row)
                 : "memory");
  return bits;
}

__device__ __forceinline__ uint2 read_two_words(SharedAddress from) {
  uint2 bits;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(bits.x), "=r"(bits.y)
               : "r"(from)
               : "memory");
  return bits;
}

// As copy16_async, or 16 bytes of zeros: then nothing is read at `from`.
__device__ __forceinline__ void copy16_or_zeros_async(SharedAddress to, const void* from,
                                                      bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(is_there ? 16 : 0)
               : "memory");
}

// d += A B, 16 x 8 from 32 entries along K, bf16 in and f32 sums. Positions are those of two lanes of
// every four: the first two with selector 0, the others with 1. They are in order, first below second,
// which architectures after Hopper want to be told.
template <int kSelector>
__device__ __forceinline__ void multiply_add24(float (&d)[4], const uint4& a, const uint4& b,
                                               unsigned positions) {
  asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w),
        "r"(positions), "n"(kSelector));
}

}  // namespace twill::cuda
