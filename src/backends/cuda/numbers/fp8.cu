// SPDX-License-Identifier: Apache-2.0
// FP8 rounding on CUDA: a pass for the largest magnitude, a number per block, and one that rounds,
// whose blocks each take the largest of those numbers first. No host waits in between.
//
// Bound by memory: 12 B per element of f32, 6 B of bf16. The second pass has time for 27
// instructions per bf16 (4 B) and takes about 20, ten of them the quotient. A maximum has no order, and products
// and quotients name their rounding: any grid gives the same bits.
#include "ops/numbers/fp8.h"

#include <cfloat>

#include "backends/cuda/device/pieces.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 6;  // at most 40 registers a thread; all blocks are resident
constexpr int kInFlight = 4;     // 16-byte loads of a thread: 96 KB on an SM
constexpr unsigned kInfinityBits = 0x7f80'0000u;

struct Fp8Steps {
  float max;
  unsigned min_normal;  // the bits of the smallest normal number
  unsigned to_last;     // added to a power of two's bits: the f32 whose last place is the format's
};

Fp8Steps steps_of(Fp8Format format) {
  const bool e4m3 = format == Fp8Format::kE4m3;
  const unsigned fraction_bits = e4m3 ? 3 : 2, min_exponent = e4m3 ? 127 - 6 : 127 - 14;
  return {.max = e4m3 ? 448.0f : 57344.0f,
          .min_normal = min_exponent << 23,
          .to_last = (23 - fraction_bits) << 23};
}

__device__ __forceinline__ unsigned block_largest(unsigned mine) {
  __shared__ unsigned of_warps[kThreads / kWarp];
  mine = __reduce_max_sync(0xffff'ffffu, mine);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  unsigned largest = 0;
#pragma unroll
  for (int warp = 0; warp < kThreads / kWarp; ++warp) largest = max(largest, of_warps[warp]);
  return largest;
}

template <int kPacks, int V, bool kWhole, class T>
__device__ __forceinline__ unsigned largest_of(const T* x, std::int64_t i, std::int64_t stride) {
  float in[kPacks][V];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) read_values<kWhole>(x + i + p * stride, in[p]);
  unsigned largest = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p)
#pragma unroll
    for (int k = 0; k < V; ++k) largest = max(largest, __float_as_uint(in[p][k]) & 0x7fff'ffffu);
  return largest;
}

// largest[block] = the bits of the largest |x|; of Inf and NaN they lie above all others. Elements
// from `whole` on, fewer than V or all of them, go one by one.
template <class T>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void largest_kernel(const T* __restrict__ x,
                                                               std::int64_t n, std::int64_t whole,
                                                               unsigned* __restrict__ largest) {
  constexpr int V = kVec<T>;
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t thread = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t stride = threads * V;
  unsigned mine = 0;
  std::int64_t i = thread * V;
  for (; i + (kInFlight - 1) * stride < whole; i += kInFlight * stride)
    mine = max(mine, largest_of<kInFlight, V, true>(x, i, stride));
  for (; i < whole; i += stride) mine = max(mine, largest_of<1, V, true>(x, i, stride));
#pragma unroll 4
  for (i = whole + thread; i < n; i += threads)
    mine = max(mine, largest_of<1, 1, false>(x, i, threads));
  mine = block_largest(mine);
  if (threadIdx.x == 0) largest[blockIdx.x] = mine;
}

// q(x s) / s. In the sum with a power of two whose last place is that of the format at |x s|, the
// addition rounds to nearest even; taking it away again is exact.
__device__ __forceinline__ float rounded(float x, float scale, const Fp8Steps& steps) {
  const float scaled = __fmul_rn(x, scale), size = fabsf(scaled);
  const unsigned power = max(__float_as_uint(size) & 0x7f80'0000u, steps.min_normal);
  const float last = __uint_as_float(power + steps.to_last);
  const float nearest = fminf(__fsub_rn(__fadd_rn(size, last), last), steps.max);
  return __fdiv_rn(copysignf(nearest, scaled), scale);
}

template <int kPacks, int V, bool kWhole, class T>
__device__ __forceinline__ void round_packs(const T* x, T* y, std::int64_t i, std::int64_t stride,
                                            float scale, const Fp8Steps& steps, bool finite) {
  unsigned bits[kPacks][V];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) read_bits<kWhole>(x + i + p * stride, bits[p]);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (!finite) {
      write_bits<kWhole>(y + i + p * stride, bits[p]);
      continue;
    }
    float out[V];
#pragma unroll
    for (int k = 0; k < V; ++k) out[k] = rounded(value_of<T>(bits[p][k]), scale, steps);
    write_values<kWhole>(y + i + p * stride, out);
  }
}

template <class T>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void fp8_kernel(const T* x, T* y, std::int64_t n,
                                                           std::int64_t whole,
                                                           const unsigned* __restrict__ largest,
                                                           unsigned num_largest, Fp8Steps steps) {
  unsigned mine = 0;
  for (unsigned i = threadIdx.x; i < num_largest; i += kThreads) mine = max(mine, largest[i]);
  const unsigned amax = block_largest(mine);
  const bool finite = amax < kInfinityBits;
  const float scale =
      amax == 0 ? 1.0f : fminf(__fdiv_rn(steps.max, __uint_as_float(amax)), FLT_MAX);

  constexpr int V = kVec<T>;
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t thread = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t stride = threads * V;
  std::int64_t i = thread * V;
  for (; i + stride < whole; i += 2 * stride)
    round_packs<2, V, true>(x, y, i, stride, scale, steps, finite);
  if (i < whole) round_packs<1, V, true>(x, y, i, stride, scale, steps, finite);
  for (i = whole + thread; i < n; i += threads)
    round_packs<1, 1, false>(x, y, i, threads, scale, steps, finite);
}

}  // namespace

void fp8_round(const Fp8RoundArgs& args, const Device& device, Queue& queue) {
  const std::int64_t n = args.x.num_elements();
  if (n == 0) return;
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    constexpr int V = kVec<T>;
    const std::int64_t whole = is_aligned({args.x, args.y}) ? n / V * V : 0;
    const unsigned blocks = grid_for(ceil_div(n, kThreads * V), kBlocksPerSm, device);
    auto* largest = reinterpret_cast<unsigned*>(
        reduction_scratch(queue, blocks * std::int64_t{sizeof(unsigned)}));
    largest_kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(pointer<T>(args.x), n, whole,
                                                              largest);
    TWILL_CUDA_CHECK_LAUNCH();
    fp8_kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(
        pointer<T>(args.x), pointer<T>(args.y), n, whole, largest, blocks, steps_of(args.format));
    TWILL_CUDA_CHECK_LAUNCH();
  });
}

}  // namespace twill::cuda
