// SPDX-License-Identifier: Apache-2.0
// Both are bound by memory, 6 B per element of bf16; a thread takes 16 bytes at once where addresses and
// sizes allow. Elements are independent: any grid gives the same bits.
#include "backends/cuda/layers/activation_slope.h"

#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/layers/activation_kinds.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256, kBlocksPerSm = 8;

// slope may be x.
template <class T, class F, int V>
__global__ __launch_bounds__(kThreads) void activation_with_slope_kernel(const T* x, T* y, T* slope,
                                                                         std::int64_t packs) {
  for (std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; pack < packs;
       pack += std::int64_t{gridDim.x} * kThreads) {
    float argument[V], value[V];
    load<V>(x + pack * V, argument);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const ValueAndSlope f = F::both(argument[i]);
      value[i] = f.value;
      argument[i] = f.slope;
    }
    store<V>(y + pack * V, value);
    store<V>(slope + pack * V, argument);
  }
}

template <int V>
__global__ __launch_bounds__(kThreads) void times_slope_kernel(__nv_bfloat16* y,
                                                               const __nv_bfloat16* slope,
                                                               std::int64_t packs) {
  for (std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; pack < packs;
       pack += std::int64_t{gridDim.x} * kThreads) {
    float d[V], s[V];
    load<V>(y + pack * V, d);
    load<V>(slope + pack * V, s);
#pragma unroll
    for (int i = 0; i < V; ++i) d[i] *= s[i];
    store<V>(y + pack * V, d);
  }
}

// Calls body(elements of a pack, packs, blocks).
template <class T, class Body>
void by_packs(std::int64_t count, bool aligned, const Device& device, const Body& body) {
  const bool fits = aligned && count % kVec<T> == 0;
  const std::int64_t packs = fits ? count / kVec<T> : count;
  const unsigned blocks = grid_for(ceil_div(packs, kThreads), kBlocksPerSm, device);
  if (fits) return body(std::integral_constant<int, kVec<T>>(), packs, blocks);
  body(std::integral_constant<int, 1>(), packs, blocks);
}

template <class T, class F>
void launch(const ActivationForwardArgs& args, const Device& device, Queue& queue) {
  by_packs<T>(args.y.num_elements(), is_aligned({args.x, args.y, args.slope}), device,
              [&]<int V>(std::integral_constant<int, V>, std::int64_t packs, unsigned blocks) {
                activation_with_slope_kernel<T, F, V><<<blocks, kThreads, 0, stream_of(queue)>>>(
                    pointer<T>(args.x), pointer<T>(args.y), pointer<T>(args.slope), packs);
                TWILL_CUDA_CHECK_LAUNCH();
              });
}

}  // namespace

void activation_with_slope(const ActivationForwardArgs& args, const Device& device, Queue& queue) {
  by_type(args.y.dtype(), [&]<class T>(TypeOf<T>) {
    by_kind<T>(args.kind, [&]<class F, bool kGated>(F, std::bool_constant<kGated>) {
      if constexpr (!kGated) launch<T, F>(args, device, queue);
    });
  });
}

void times_slope(View y, ConstView slope, const Device& device, Queue& queue) {
  using T = __nv_bfloat16;
  if (y.num_elements() == 0) return;
  by_packs<T>(y.num_elements(), is_aligned({y, slope}), device,
              [&]<int V>(std::integral_constant<int, V>, std::int64_t packs, unsigned blocks) {
                times_slope_kernel<V><<<blocks, kThreads, 0, stream_of(queue)>>>(
                    pointer<T>(y), pointer<T>(slope), packs);
                TWILL_CUDA_CHECK_LAUNCH();
              });
}

}  // namespace twill::cuda
