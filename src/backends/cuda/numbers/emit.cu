// SPDX-License-Identifier: Apache-2.0
// Copies of ops/numbers/emit.h on CUDA, behind the op that made x: a pass for each copy. A block of 256
// threads takes a tile of 64 x 64, four neighbours of a row to a thread; a transposed copy turns the tile in
// shared memory, so that reads and writes are both whole lines.
//
// Bound by memory: 3 B per element of bf16 that becomes 8 bits wide. A maximum has no order and a quotient
// names its rounding: any grid gives the same bits.
#include "ops/numbers/emit.h"

#include <cuda_fp8.h>

#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 64, kPack = 4;
constexpr int kPacks = kTile / kPack;           // of a row of the tile
constexpr int kRowsAtOnce = kThreads / kPacks;  // 16
constexpr int kBlocksPerSm = 8;

__device__ __forceinline__ float as_float(float x) { return x; }
__device__ __forceinline__ float as_float(__nv_bfloat16 x) { return __bfloat162float(x); }

// The conversions of base/bf16.h and base/fp8.h: the hardware's make one NaN of all.
template <class T>
struct Narrow;
template <>
struct Narrow<float> {
  using Bits = float;
  __device__ static Bits of(float x) { return x; }
};
template <>
struct Narrow<__nv_bfloat16> {
  using Bits = unsigned short;
  __device__ static Bits of(float x) {
    const unsigned bits = __float_as_uint(x);
    const unsigned rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    return static_cast<Bits>((x != x ? bits | 0x40'0000u : rounded) >> 16);
  }
};
template <__nv_fp8_interpretation_t kFormat>
struct NarrowFp8 {
  using Bits = unsigned char;
  __device__ static Bits of(float x) {
    if (x != x) return static_cast<Bits>((__float_as_uint(x) >> 24 & 0x80u) | 0x7fu);
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, kFormat);
  }
};
template <>
struct Narrow<__nv_fp8_e4m3> : NarrowFp8<__NV_E4M3> {};
template <>
struct Narrow<__nv_fp8_e5m2> : NarrowFp8<__NV_E5M2> {};

struct Copy {
  std::int64_t rows, cols;
  float scale;
  const float* scale_at;
  unsigned* amax;  // bits of floats that are not negative order like them, NaN above all
  bool whole;      // sides in fours, 16-byte addresses
};

// Four neighbours at (row, col) of a matrix of `cols`; those behind its end are not touched.
template <class T>
__device__ __forceinline__ void read_four(const T* x, std::int64_t row, std::int64_t col,
                                          const Copy& copy, float (&to)[kPack]) {
  const T* from = x + row * copy.cols + col;
  if (copy.whole) {
    struct alignas(sizeof(T) * kPack) Four {
      T at[kPack];
    };
    const Four four = *reinterpret_cast<const Four*>(from);
#pragma unroll
    for (int i = 0; i < kPack; ++i) to[i] = as_float(four.at[i]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kPack; ++i) to[i] = col + i < copy.cols ? as_float(from[i]) : 0.0f;
}

template <class Bits>
__device__ __forceinline__ void write_four(Bits* to, const Bits (&bits)[kPack], std::int64_t left,
                                           bool whole) {
  if (whole) {
    struct alignas(sizeof(Bits) * kPack) Four {
      Bits at[kPack];
    };
    Four four;
#pragma unroll
    for (int i = 0; i < kPack; ++i) four.at[i] = bits[i];
    *reinterpret_cast<Four*>(to) = four;
    return;
  }
#pragma unroll
  for (int i = 0; i < kPack; ++i)
    if (i < left) to[i] = bits[i];
}

template <class From, class To, bool kTransposed>
__global__ __launch_bounds__(kThreads) void emit_kernel(const From* __restrict__ x,
                                                        typename Narrow<To>::Bits* __restrict__ to,
                                                        Copy copy) {
  using Bits = typename Narrow<To>::Bits;
  // A column more: the four rows of a write lie in different banks.
  __shared__ float turned[kTransposed ? kTile : 1][kTile + 1];
  const int pack = threadIdx.x % kPacks * kPack, first = threadIdx.x / kPacks;
  const float scale = copy.scale_at != nullptr ? *copy.scale_at : copy.scale;
  const std::int64_t across = (copy.cols + kTile - 1) / kTile;
  const std::int64_t tiles = across * ((copy.rows + kTile - 1) / kTile);
  unsigned most = 0;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t top = tile / across * kTile, left = tile % across * kTile;
#pragma unroll
    for (int r = 0; r < kTile; r += kRowsAtOnce) {
      const std::int64_t row = top + first + r, col = left + pack;
      if (row >= copy.rows || col >= copy.cols) continue;
      float value[kPack];
      read_four(x, row, col, copy, value);
      Bits bits[kPack];
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        most = max(most, __float_as_uint(value[i]) & 0x7fff'ffffu);
        const float quotient = __fdiv_rn(value[i], scale);
        if constexpr (kTransposed)
          turned[first + r][pack + i] = quotient;
        else
          bits[i] = Narrow<To>::of(quotient);
      }
      if constexpr (!kTransposed)
        if (to != nullptr)
          write_four(to + row * copy.cols + col, bits, copy.cols - col, copy.whole);
    }
    if constexpr (kTransposed) {
      __syncthreads();
#pragma unroll
      for (int r = 0; r < kTile; r += kRowsAtOnce) {
        const std::int64_t row = left + first + r, col = top + pack;  // of the copy
        if (row >= copy.cols || col >= copy.rows) continue;
        Bits bits[kPack];
#pragma unroll
        for (int i = 0; i < kPack; ++i) bits[i] = Narrow<To>::of(turned[pack + i][first + r]);
        write_four(to + row * copy.rows + col, bits, copy.rows - col, copy.whole);
      }
      __syncthreads();
    }
  }
  if (copy.amax == nullptr) return;
  most = __reduce_max_sync(0xffff'ffffu, most);
  if (threadIdx.x % 32 == 0) atomicMax(copy.amax, most);
}

template <class From, class To>
void launch(const ConstView& x, const Emit& emit, const Copy& copy, const Device& device,
            Queue& queue) {
  using Bits = typename Narrow<To>::Bits;
  const std::int64_t tiles = ceil_div(copy.rows, kTile) * ceil_div(copy.cols, kTile);
  const unsigned blocks = grid_for(tiles, kBlocksPerSm, device);
  auto* to = emit.to ? reinterpret_cast<Bits*>(emit.to.bytes()) : nullptr;
  if (to != nullptr && emit.transposed)
    emit_kernel<From, To, true>
        <<<blocks, kThreads, 0, stream_of(queue)>>>(pointer<From>(x), to, copy);
  else
    emit_kernel<From, To, false>
        <<<blocks, kThreads, 0, stream_of(queue)>>>(pointer<From>(x), to, copy);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class From>
void launch_to(const ConstView& x, const Emit& emit, const Copy& copy, const Device& device,
               Queue& queue) {
  switch (emit.to ? emit.to.dtype() : DType::kF32) {
    case DType::kF32:
      return launch<From, float>(x, emit, copy, device, queue);
    case DType::kBf16:
      return launch<From, __nv_bfloat16>(x, emit, copy, device, queue);
    case DType::kE4m3:
      return launch<From, __nv_fp8_e4m3>(x, emit, copy, device, queue);
    case DType::kE5m2:
      return launch<From, __nv_fp8_e5m2>(x, emit, copy, device, queue);
    case DType::kF64:
    case DType::kI32:
    case DType::kU8:
      break;
  }
  TWILL_CHECK(false, "the cuda backend copies to f32, bf16, e4m3 and e5m2");
}

}  // namespace

void emit(const EmitArgs& args, const Device& device, Queue& queue) {
  const std::int64_t rows = args.x.rows(), cols = args.x.cols();
  for (const Emit& emit : args.emits) {
    auto* amax = emit.amax ? reinterpret_cast<unsigned*>(emit.amax.bytes()) : nullptr;
    if (amax != nullptr)
      TWILL_CUDA_CHECK(cudaMemsetAsync(amax, 0, sizeof(unsigned), stream_of(queue)));
    if (rows * cols == 0) continue;
    const Copy copy{.rows = rows,
                    .cols = cols,
                    .scale = emit.scale.value,
                    .scale_at = emit.scale.at ? pointer<float>(emit.scale.at) : nullptr,
                    .amax = amax,
                    .whole = cols % kPack == 0 && (!emit.transposed || rows % kPack == 0) &&
                             is_aligned({args.x, emit.to})};
    by_type(args.x.dtype(),
            [&]<class From>(TypeOf<From>) { launch_to<From>(args.x, emit, copy, device, queue); });
  }
}

}  // namespace twill::cuda
