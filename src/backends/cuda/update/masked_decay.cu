// SPDX-License-Identifier: Apache-2.0
// masked_decay on CUDA: a thread takes 16 bytes of target and weight, two such packs in flight.
//
// Bound by memory: 13 B per element (9 B where target is weight). Elements are independent, and
// products and the sum name their rounding: any grid gives the same bits. Where 16-byte accesses do
// not fit, and for the last elements, a pack is one element.
#include "ops/update/masked_decay.h"

#include "backends/cuda/device/pieces.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 6;  // at most 40 registers a thread; all blocks are resident

struct Decay {
  float* target;
  const float* weight;  // may be target
  const std::uint8_t* mask;
  float scale, rate;
};

// A product with one returns some NaN, not the NaN it was given: then there is none.
__device__ __forceinline__ float decayed(const Decay& a, float target, float weight, bool kept) {
  const float scaled = a.scale == 1.0f ? target : __fmul_rn(a.scale, target);
  return kept ? scaled : __fadd_rn(scaled, __fmul_rn(a.rate, weight));
}

// kPacks packs of V elements, `stride` elements apart; all loads stand before the first store.
template <int kPacks, int V, bool kWhole>
__device__ __forceinline__ void decay_packs(const Decay& a, std::int64_t i, std::int64_t stride) {
  float target[kPacks][V], weight[kPacks][V];
  bool kept[kPacks][V];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    read_values<kWhole>(a.target + i + p * stride, target[p]);
    read_values<kWhole>(a.weight + i + p * stride, weight[p]);
    read_flags<kWhole>(a.mask + i + p * stride, kept[p]);
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int k = 0; k < V; ++k) target[p][k] = decayed(a, target[p][k], weight[p][k], kept[p][k]);
    write_values<kWhole>(a.target + i + p * stride, target[p]);
  }
}

// Elements 0 … n - 1, n a multiple of V.
template <int V, bool kWhole>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void decay_kernel(Decay a, std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * (kThreads * V);
  std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * V;
  for (; i + stride < n; i += 2 * stride) decay_packs<2, V, kWhole>(a, i, stride);
  if (i < n) decay_packs<1, V, kWhole>(a, i, stride);
}

template <int V, bool kWhole>
void launch(const Decay& decay, std::int64_t n, const Device& device, Queue& queue) {
  if (n == 0) return;
  const unsigned blocks = grid_for(ceil_div(n, kThreads * V), kBlocksPerSm, device);
  decay_kernel<V, kWhole><<<blocks, kThreads, 0, stream_of(queue)>>>(decay, n);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void masked_decay(const MaskedDecayArgs& args, const Device& device, Queue& queue) {
  Decay decay{.target = pointer<float>(args.target),
              .weight = pointer<float>(args.weight),
              .mask = pointer<std::uint8_t>(args.mask),
              .scale = static_cast<float>(args.scale),
              .rate = static_cast<float>(args.rate)};
  const std::int64_t n = args.target.num_elements();
  const bool aligned = is_aligned({args.target, args.weight, args.mask});
  const std::int64_t whole = aligned ? n / kVec<float> * kVec<float> : 0;
  launch<kVec<float>, true>(decay, whole, device, queue);
  decay.target += whole, decay.weight += whole, decay.mask += whole;
  launch<1, false>(decay, n - whole, device, queue);
}

}  // namespace twill::cuda
