// SPDX-License-Identifier: Apache-2.0
// pack24 and unpack24 on CUDA. As it lies: a thread per byte of codes, eight dense elements, two of
// them in flight. Transposed: tiles of 64 dense rows and columns; a thread takes a group of four
// rows in four columns, and the packed rows are gathered in shared memory, so that both sides are
// read and written in pieces of 64 bytes or more.
//
// Bound by memory: per dense element 7.1 B of f32, 6.1 B from f32 to bf16, 4.1 B of bf16. Copies,
// but for the rounding from f32 to bf16: any grid gives the same bits. Where whole accesses do not
// fit, elements go one by one.
#include "ops/packing/pack24.h"

#include "backends/cuda/device/packing/pack24.cuh"
#include "backends/cuda/device/packing/pack24_tiles.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 5;  // at most 48 registers a thread; all blocks are resident

// kBytes bytes of codes, `stride` apart, of a matrix whose rows are whole bytes: memory is flat.
template <int kBytes, class Dense, class Value>
__device__ __forceinline__ void pack_bytes(const Packing<Dense, Value>& a, std::int64_t byte,
                                           std::int64_t stride) {
  unsigned in[kBytes][8];
  bool kept[kBytes][8];
#pragma unroll
  for (int p = 0; p < kBytes; ++p) {
    read_bits<true>(a.dense + (byte + p * stride) * 8, in[p]);
    read_flags<true>(a.mask + (byte + p * stride) * 8, kept[p]);
  }
#pragma unroll
  for (int p = 0; p < kBytes; ++p) {
    unsigned values[4], codes = 0;
#pragma unroll
    for (int g = 0; g < 2; ++g) {
      const unsigned(&x)[8] = in[p];
      const bool(&k)[8] = kept[p];
      const PackedGroup group =
          pack_group<Dense, Value>({x[4 * g], x[4 * g + 1], x[4 * g + 2], x[4 * g + 3]},
                                   {k[4 * g], k[4 * g + 1], k[4 * g + 2], k[4 * g + 3]});
      values[2 * g] = group.values[0];
      values[2 * g + 1] = group.values[1];
      codes |= group.code << (4 * g);
    }
    write_bits<true>(a.values + (byte + p * stride) * 4, values);
    a.nibbles[byte + p * stride] = static_cast<std::uint8_t>(codes);
  }
}

template <class Dense, class Value>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void pack_flat_kernel(Packing<Dense, Value> a) {
  const std::int64_t bytes = a.rows * (a.cols / 8);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t byte = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; byte + stride < bytes; byte += 2 * stride) pack_bytes<2>(a, byte, stride);
  if (byte < bytes) pack_bytes<1>(a, byte, stride);
}

// Any alignment, and rows that end with half a byte of codes.
template <class Dense, class Value>
__global__ __launch_bounds__(kThreads) void pack_loose_kernel(Packing<Dense, Value> a) {
  const std::int64_t row_bytes = (a.cols + 7) / 8, groups = a.cols / 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t byte = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
       byte < a.rows * row_bytes; byte += stride) {
    const Division place = divide(byte, row_bytes);
    unsigned codes = 0;
#pragma unroll
    for (int g = 0; g < 2; ++g) {
      const std::int64_t in_row = 2 * place.rest + g;
      if (in_row >= groups) continue;
      const std::int64_t group = place.quotient * groups + in_row;
      unsigned in[4];
      bool kept[4];
      read_bits<false>(a.dense + group * 4, in);
      read_flags<false>(a.mask + group * 4, kept);
      const PackedGroup packed = pack_group<Dense, Value>(in, kept);
#pragma unroll
      for (int i = 0; i < 2; ++i) a.values[group * 2 + i] = element_of<Value>(packed.values[i]);
      codes |= packed.code << (4 * g);
    }
    a.nibbles[byte] = static_cast<std::uint8_t>(codes);
  }
}

// Eight dense elements from four values and a byte of codes.
template <int kBytes, class T>
__device__ __forceinline__ void unpack_bytes(const Unpacking<T>& a, std::int64_t byte,
                                             std::int64_t stride) {
  unsigned values[kBytes][4], codes[kBytes];
#pragma unroll
  for (int p = 0; p < kBytes; ++p) {
    read_bits<true>(a.values + (byte + p * stride) * 4, values[p]);
    codes[p] = a.nibbles[byte + p * stride];
  }
#pragma unroll
  for (int p = 0; p < kBytes; ++p) {
    unsigned out[8];
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned group = i / 4;
      out[i] =
          unpacked(values[p][2 * group], values[p][2 * group + 1], codes[p] >> (4 * group), i % 4);
    }
    write_bits<true>(a.dense + (byte + p * stride) * 8, out);
  }
}

template <class T>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void unpack_flat_kernel(Unpacking<T> a) {
  const std::int64_t bytes = a.rows * (a.cols / 8);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t byte = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; byte + stride < bytes; byte += 2 * stride) unpack_bytes<2>(a, byte, stride);
  if (byte < bytes) unpack_bytes<1>(a, byte, stride);
}

template <class T>
__global__ __launch_bounds__(kThreads) void unpack_loose_kernel(Unpacking<T> a) {
  const std::int64_t row_bytes = (a.cols + 7) / 8, groups = a.cols / 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t group = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
       group < a.rows * groups; group += stride) {
    const Division place = divide(group, groups);
    const unsigned byte = a.nibbles[place.quotient * row_bytes + place.rest / 2];
    const unsigned code = byte >> (4 * (place.rest % 2));
    unsigned values[2];
    read_bits<false>(a.values + group * 2, values);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      a.dense[group * 4 + i] = element_of<T>(unpacked(values[0], values[1], code, i));
  }
}

// Blocks for the bytes of codes, and for tiles of a transposed matrix.
unsigned flat_blocks(const ConstView& nibbles, const Device& device) {
  return grid_for(ceil_div(nibbles.num_elements(), kThreads), kBlocksPerSm, device);
}
unsigned tile_blocks(std::int64_t rows, std::int64_t cols) {
  return static_cast<unsigned>(ceil_div(rows, kTile) * ceil_div(cols, kTile));
}

template <class Dense, class Value>
void launch_pack(const Pack24Args& args, const Device& device, Queue& queue) {
  const Packing<Dense, Value> packing{.dense = pointer<Dense>(args.dense),
                                      .mask = pointer<std::uint8_t>(args.mask),
                                      .values = pointer<Value>(args.values),
                                      .nibbles = pointer<std::uint8_t>(args.nibbles),
                                      .rows = args.values.rows(),
                                      .cols = args.values.cols() * 2};
  const bool aligned = is_aligned({args.dense, args.mask, args.values});
  if (args.transpose) {
    const bool whole = aligned && packing.rows % 4 == 0;
    const auto kernel =
        whole ? pack_tile_kernel<Dense, Value, true> : pack_tile_kernel<Dense, Value, false>;
    kernel<<<tile_blocks(packing.rows, packing.cols), kTileThreads, 0, stream_of(queue)>>>(packing);
  } else {
    const bool whole = aligned && packing.cols % 8 == 0;
    const auto kernel = whole ? pack_flat_kernel<Dense, Value> : pack_loose_kernel<Dense, Value>;
    kernel<<<flat_blocks(args.nibbles, device), kThreads, 0, stream_of(queue)>>>(packing);
  }
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class T>
void launch_unpack(const Unpack24Args& args, const Device& device, Queue& queue) {
  const Unpacking<T> packing{.values = pointer<T>(args.values),
                             .nibbles = pointer<std::uint8_t>(args.nibbles),
                             .dense = pointer<T>(args.dense),
                             .rows = args.values.rows(),
                             .cols = args.values.cols() * 2};
  const bool aligned = is_aligned({args.values, args.dense});
  if (args.transpose) {
    const bool whole = aligned && packing.rows % 4 == 0;
    const auto kernel = whole ? unpack_tile_kernel<T, true> : unpack_tile_kernel<T, false>;
    kernel<<<tile_blocks(packing.rows, packing.cols), kTileThreads, 0, stream_of(queue)>>>(packing);
  } else {
    const bool whole = aligned && packing.cols % 8 == 0;
    const auto kernel = whole ? unpack_flat_kernel<T> : unpack_loose_kernel<T>;
    kernel<<<flat_blocks(args.nibbles, device), kThreads, 0, stream_of(queue)>>>(packing);
  }
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void pack24(const Pack24Args& args, const Device& device, Queue& queue) {
  if (args.dense.num_elements() == 0) return;  // then nothing is packed either
  by_type(args.dense.dtype(), [&]<class Dense>(TypeOf<Dense>) {
    if (args.dense.dtype() == args.values.dtype())
      return launch_pack<Dense, Dense>(args, device, queue);
    launch_pack<Dense, __nv_bfloat16>(args, device, queue);
  });
}

void unpack24(const Unpack24Args& args, const Device& device, Queue& queue) {
  if (args.dense.num_elements() == 0) return;
  by_type(args.dense.dtype(), [&]<class T>(TypeOf<T>) { launch_unpack<T>(args, device, queue); });
}

}  // namespace twill::cuda
