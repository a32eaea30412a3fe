// SPDX-License-Identifier: Apache-2.0
// f32 to bf16 on CUDA: a thread reads eight neighbours in two accesses of 16 bytes and writes them
// in one; two such groups are in flight (96 KB per multiprocessor).
//
// Bound by memory: 6 B per element. Elements are independent: any grid gives the same bits.
// Operands that are not aligned to 16 bytes, and the last elements, go one by one.
#include "ops/numbers/cast.h"

#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 6;  // 40 registers a thread; all blocks of the grid are resident
constexpr int kGroup = 8;        // elements of a 16-byte store

// to_bf16() of base/bf16.h. The conversion of the hardware makes one NaN of all; here they keep
// sign and payload as they do there.
__device__ __forceinline__ std::uint32_t bf16_bits(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return (x != x ? bits | 0x40'0000u : rounded) >> 16;
}

__device__ __forceinline__ std::uint32_t bf16_pair(float low, float high) {
  return bf16_bits(low) | bf16_bits(high) << 16;
}

// One store of 16 bytes, by name: of two in a row the compiler makes eight of four bytes.
__device__ __forceinline__ void store_words(std::uint16_t* to, std::uint32_t a, std::uint32_t b,
                                            std::uint32_t c, std::uint32_t d) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// kGroups groups, `stride` apart; all loads stand before the first store.
template <int kGroups>
__device__ __forceinline__ void cast_groups(const float* __restrict__ x,
                                            std::uint16_t* __restrict__ y, std::int64_t i,
                                            std::int64_t stride) {
  float4 in[kGroups][2];
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const auto* from = reinterpret_cast<const float4*>(x + i + g * stride);
    in[g][0] = from[0];
    in[g][1] = from[1];
  }
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const float4 a = in[g][0], b = in[g][1];
    store_words(y + i + g * stride, bf16_pair(a.x, a.y), bf16_pair(a.z, a.w), bf16_pair(b.x, b.y),
                bf16_pair(b.z, b.w));
  }
}

__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void cast_groups_kernel(const float* __restrict__ x,
                                                                   std::uint16_t* __restrict__ y,
                                                                   std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * (kThreads * kGroup);
  std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kGroup;
  for (; i + stride < n; i += 2 * stride) cast_groups<2>(x, y, i, stride);
  if (i < n) cast_groups<1>(x, y, i, stride);
}

__global__ __launch_bounds__(kThreads) void cast_kernel(const float* __restrict__ x,
                                                        std::uint16_t* __restrict__ y,
                                                        std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 4
  for (; i < n; i += stride) y[i] = static_cast<std::uint16_t>(bf16_bits(x[i]));
}

}  // namespace

void cast(const CastArgs& args, const Device& device, Queue& queue) {
  const std::int64_t n = args.x.num_elements();
  const auto* x = pointer<float>(args.x);
  auto* y = pointer<std::uint16_t>(args.y);
  const std::int64_t grouped = is_aligned({args.x, args.y}) ? n / kGroup * kGroup : 0;
  if (grouped > 0) {
    const unsigned blocks = grid_for(ceil_div(grouped, kThreads * kGroup), kBlocksPerSm, device);
    cast_groups_kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(x, y, grouped);
    TWILL_CUDA_CHECK_LAUNCH();
  }
  if (grouped < n) {
    const unsigned blocks = grid_for(ceil_div(n - grouped, kThreads), kBlocksPerSm, device);
    cast_kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(x + grouped, y + grouped, n - grouped);
    TWILL_CUDA_CHECK_LAUNCH();
  }
}

}  // namespace twill::cuda
