// SPDX-License-Identifier: Apache-2.0
// Dropout on CUDA: a persistent grid walks over groups of 16 bytes; a thread asks for its elements,
// makes one philox call per four of them while they come, and writes.
//
// bf16 moves 4 B per element, or 6 with an addend, and has time for 27 or 40 instructions in that;
// ten rounds of philox over four elements are about 20 of them, so that it is bound by memory, but
// not by much. The mask is a function of the element's number: any grid gives the same bits.
// Groups that are not aligned to 16 bytes, and the last one, go element by element.
#include "ops/layers/dropout.h"

#include <cmath>
#include <type_traits>

#include "backends/cuda/device/philox.cuh"
#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 6;  // 40 registers a thread; all blocks of the grid are resident

struct Mask {
  std::uint64_t seed;
  std::uint64_t first_element;  // of philox: the stream's
  std::uint32_t step;
  std::uint32_t threshold;
};

// Which of V elements from i on stay, i a multiple of four.
template <int V>
__device__ __forceinline__ void draw(const Mask& mask, std::int64_t i, bool (&keep)[V]) {
  const std::uint64_t element = mask.first_element + static_cast<std::uint64_t>(i) / 4;
#pragma unroll
  for (int call = 0; call < V / 4; ++call) {
    const uint4 words = random_bits(mask.seed, static_cast<std::uint32_t>(Purpose::kDropout),
                                    mask.step, element + call);
    keep[4 * call] = words.x >> 8 >= mask.threshold;
    keep[4 * call + 1] = words.y >> 8 >= mask.threshold;
    keep[4 * call + 2] = words.z >> 8 >= mask.threshold;
    keep[4 * call + 3] = words.w >> 8 >= mask.threshold;
  }
}

// Product and sum round separately: the bits are part of the contract.
__device__ __forceinline__ float kept(float x, bool keep, float scale) {
  return keep ? __fmul_rn(x, scale) : 0.0f;
}

template <class T, bool kAddend>
__device__ __forceinline__ void group(const T* x, const T* addend, T* y, const Mask& mask,
                                      float scale, std::int64_t i) {
  constexpr int V = kVec<T>;
  float in[V], add[V];
  load<V>(x + i, in);
  if constexpr (kAddend) load<V>(addend + i, add);
  bool keep[V];
  draw(mask, i, keep);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    in[k] = kept(in[k], keep[k], scale);
    if constexpr (kAddend) in[k] = __fadd_rn(add[k], in[k]);
  }
  store<V>(y + i, in);
}

// The same of the `count` elements from i on, wherever they lie.
template <class T, bool kAddend>
__device__ __forceinline__ void loose_group(const T* x, const T* addend, T* y, const Mask& mask,
                                            float scale, std::int64_t i, std::int64_t count) {
  constexpr int V = kVec<T>;
  bool keep[V];
  draw(mask, i, keep);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    if (k >= count) continue;
    float out = kept(to_f32(x[i + k]), keep[k], scale);
    if constexpr (kAddend) out = __fadd_rn(to_f32(addend[i + k]), out);
    y[i + k] = from_f32<T>(out);
  }
}

template <class T, bool kAligned, bool kAddend>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void dropout_kernel(const T* x, const T* addend, T* y,
                                                               std::int64_t n, Mask mask,
                                                               const std::int32_t* step_at,
                                                               float scale) {
  constexpr int V = kVec<T>;
  if (step_at != nullptr) mask.step = static_cast<std::uint32_t>(*step_at);
  const std::int64_t stride = std::int64_t{gridDim.x} * (kThreads * V);
  std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * V;
  if constexpr (kAligned)
    for (; i + V <= n; i += stride) group<T, kAddend>(x, addend, y, mask, scale, i);
  for (; i < n; i += stride) loose_group<T, kAddend>(x, addend, y, mask, scale, i, n - i);
}

template <class T, bool kAligned, bool kAddend>
void launch(const DropoutArgs& args, const Device& device, cudaStream_t stream) {
  // unit_float(bits) >= p  <=>  bits >> 8 >= p 2^24; the product is exact, so rounding up is too.
  const Mask mask{.seed = args.seed,
                  .first_element = args.stream << 40,
                  .step = args.step,
                  .threshold = static_cast<std::uint32_t>(std::ceil(args.p * 0x1p24))};
  const std::int64_t n = args.x.num_elements();
  const unsigned blocks = grid_for(ceil_div(n, kThreads * kVec<T>), kBlocksPerSm, device);
  dropout_kernel<T, kAligned, kAddend><<<blocks, kThreads, 0, stream>>>(
      pointer<T>(args.x), pointer<T>(args.addend), pointer<T>(args.y), n, mask,
      pointer<std::int32_t>(args.step_at), static_cast<float>(1.0 / (1.0 - args.p)));
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void dropout(const DropoutArgs& args, const Device& device, Queue& queue) {
  if (args.x.num_elements() == 0) return;
  const cudaStream_t stream = stream_of(queue);
  const bool aligned = is_aligned({args.x, args.addend, args.y});
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    if (args.addend) {
      if (aligned) return launch<T, true, true>(args, device, stream);
      return launch<T, false, true>(args, device, stream);
    }
    if (aligned) return launch<T, true, false>(args, device, stream);
    return launch<T, false, false>(args, device, stream);
  });
}

}  // namespace twill::cuda
