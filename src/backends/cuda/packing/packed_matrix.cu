// SPDX-License-Identifier: Apache-2.0
// pack_matrix and unpack_matrix on CUDA, in the layout of packed_layout.h. A weight goes through
// pack_tiles.cu; here what that does not take: columns whole, operands off a 16-byte boundary. A block
// takes an atom of 64 x 64 entries: a thread has sixteen entries of a row of P, writes their eight
// values and puts their positions into shared memory, from where the atom's 512 bytes are stored at
// once.
//
// As it lies, four threads read 256 neighbouring bytes; transposed, eight threads read 32 neighbouring
// bytes of each of sixteen rows: whole sectors on both sides.
#include "ops/packing/packed_matrix.h"

#include "backends/cuda/device/packing/pack24.cuh"
#include "backends/cuda/packing/pack_tiles.h"
#include "backends/cuda/packing/packed_layout.h"
#include "backends/cuda/packing/packed_operand.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;  // of an atom: 64 rows of four times sixteen entries
constexpr int kBlocksPerSm = 8;

struct Place {
  std::int64_t m, k;  // of the first of sixteen entries
  std::int64_t m_in;  // within the atom
  std::int64_t k_in;
};

// Neighbouring threads have neighbouring memory of the dense matrix.
template <bool kTransposed>
__device__ __forceinline__ Place place_of(const PackedLayout& layout, std::int64_t atom) {
  const int t = static_cast<int>(threadIdx.x);
  const std::int64_t m_in = kTransposed ? t / 32 * 8 + t % 8 : t / 4;
  const std::int64_t k_in = 16 * (kTransposed ? t % 32 / 8 : t % 4);
  const Division at = divide(atom, layout.atoms_down());
  return {at.rest * kAtom + m_in, at.quotient * kAtom + k_in, m_in, k_in};
}

// Entry (m, k + i) of P in the dense matrix.
template <bool kTransposed>
__device__ __forceinline__ std::int64_t dense_at(const PackedLayout& layout, const Place& at,
                                                 int i) {
  return kTransposed ? (at.k + i) * layout.rows + at.m : at.m * layout.cols + at.k + i;
}

template <bool kTransposed, bool kWhole, class Dense>
__device__ __forceinline__ void read_sixteen(const Dense* dense, const std::uint8_t* mask,
                                             const PackedLayout& layout, const Place& at,
                                             unsigned (&x)[16], bool (&kept)[16]) {
  if constexpr (kWhole && !kTransposed) {
    const std::int64_t begin = dense_at<false>(layout, at, 0);
    read_bits<true>(dense + begin, x);
    if (mask != nullptr) read_flags<true>(mask + begin, kept);
  } else {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const bool there = kWhole || at.k + i < layout.cols;
      const std::int64_t from = dense_at<kTransposed>(layout, at, i);
      x[i] = there ? bits_of(dense[from]) : 0u;
      kept[i] = there && mask != nullptr && mask[from] != 0;
    }
  }
  if (mask != nullptr) return;
#pragma unroll
  for (int i = 0; i < 16; ++i) kept[i] = value_of<Dense>(x[i]) != 0.0f;  // a NaN is
}

template <class Dense, bool kTransposed, bool kWhole>
__global__ __launch_bounds__(kThreads, 4) void pack_matrix_kernel(const Dense* dense,
                                                                  const std::uint8_t* mask,
                                                                  __nv_bfloat16* values,
                                                                  uint4* positions,
                                                                  PackedLayout layout) {
  __shared__ uint4 atom_words[kAtomHalves / 8];
  auto* words = reinterpret_cast<std::uint16_t*>(atom_words);
  for (std::int64_t atom = blockIdx.x; atom < layout.num_atoms(); atom += gridDim.x) {
    const Place at = place_of<kTransposed>(layout, atom);
    unsigned word = kIdlePositions;
    if (at.m < layout.rows && at.k < layout.cols) {
      unsigned x[16], packed[8];
      bool kept[16];
      read_sixteen<kTransposed, kWhole>(dense, mask, layout, at, x, kept);
      word = 0;
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        const PackedGroup group = pack_group<Dense, __nv_bfloat16>(
            {x[4 * g], x[4 * g + 1], x[4 * g + 2], x[4 * g + 3]},
            {kept[4 * g], kept[4 * g + 1], kept[4 * g + 2], kept[4 * g + 3]});
        packed[2 * g] = group.values[0];
        packed[2 * g + 1] = group.values[1];
        word |= group.code << (4 * g);
      }
      const std::int64_t s = at.k / 2;
      if (layout.order == PackedOrder::kRowsWhole) {
        write_bits<true>(values + layout.value_at(at.m, s), packed);
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i)
          if (s + i < layout.row_values())
            values[layout.value_at(at.m, s + i)] = element_of<__nv_bfloat16>(packed[i]);
      }
    }
    words[word_in_atom(at.m_in, at.k_in)] = static_cast<std::uint16_t>(word);
    __syncthreads();
    if (threadIdx.x < kAtomHalves / 8)
      positions[atom * (kAtomHalves / 8) + threadIdx.x] = atom_words[threadIdx.x];
    __syncthreads();
  }
}

template <class T>
__global__ __launch_bounds__(kThreads) void unpack_matrix_kernel(const __nv_bfloat16* values,
                                                                 const std::uint16_t* words,
                                                                 T* dense, PackedLayout layout) {
  for (std::int64_t atom = blockIdx.x; atom < layout.num_atoms(); atom += gridDim.x) {
    const Place at = place_of<false>(layout, atom);
    if (at.m >= layout.rows || at.k >= layout.cols) continue;
    const unsigned word = words[layout.word_of(at.m, at.k)];
    for (unsigned i = 0; i < 16 && at.k + i < layout.cols; ++i) {
      const std::int64_t s = (at.k + i) / 4 * 2;
      const unsigned entry =
          unpacked(bits_of(values[layout.value_at(at.m, s)]),
                   bits_of(values[layout.value_at(at.m, s + 1)]), word >> (i / 4 * 4), i % 4);
      dense[dense_at<false>(layout, at, static_cast<int>(i))] =
          from_f32<T>(value_of<__nv_bfloat16>(entry));
    }
  }
}

template <class Dense, bool kTransposed>
void launch_pack(const PackMatrixArgs& args, const Device& device, Queue& queue) {
  const PackedLayout layout = layout_of(args.shape);
  const bool whole = layout.cols % 16 == 0 && is_aligned({args.dense, args.mask});
  const auto kernel = whole ? pack_matrix_kernel<Dense, kTransposed, true>
                            : pack_matrix_kernel<Dense, kTransposed, false>;
  kernel<<<grid_for(layout.num_atoms(), kBlocksPerSm, device), kThreads, 0, stream_of(queue)>>>(
      pointer<Dense>(args.dense), pointer<std::uint8_t>(args.mask),
      pointer<__nv_bfloat16>(args.storage),
      reinterpret_cast<uint4*>(args.storage.bytes() + layout.positions_begin()), layout);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

std::int64_t packed_bytes(const PackedShape& shape, const Device& device) {
  const PackedLayout layout = layout_of(shape);
  const bool is_pattern = shape.pattern != PackedPattern::kAny && shape.type == DType::kBf16;
  return is_pattern && has_sparse_products(device) && layout.is_possible() ? layout.num_bytes() : 0;
}

void pack_matrix(const PackMatrixArgs& args, const Device& device, Queue& queue) {
  if (packs_by_tiles(args.shape, {args.dense, args.mask, args.storage})) {
    const TilePacking packing{.dense = args.dense,
                              .mask = args.mask,
                              .plain = args.transpose ? View() : args.storage,
                              .turned = args.transpose ? args.storage : View(),
                              .keeps_positions = holds_positions(args.shape, args.same_mask)};
    return pack_tiles(std::span(&packing, 1), queue);
  }
  by_type(args.dense.dtype(), [&]<class Dense>(TypeOf<Dense>) {
    if (args.transpose) return launch_pack<Dense, true>(args, device, queue);
    launch_pack<Dense, false>(args, device, queue);
  });
}

void unpack_matrix(const UnpackMatrixArgs& args, const Device& device, Queue& queue) {
  const PackedLayout layout = layout_of(args.packed.shape);
  by_type(args.dense.dtype(), [&]<class T>(TypeOf<T>) {
    unpack_matrix_kernel<T>
        <<<grid_for(layout.num_atoms(), kBlocksPerSm, device), kThreads, 0, stream_of(queue)>>>(
            pointer<__nv_bfloat16>(args.packed.storage),
            reinterpret_cast<const std::uint16_t*>(args.packed.storage.bytes() +
                                                   layout.positions_begin()),
            pointer<T>(args.dense), layout);
    TWILL_CUDA_CHECK_LAUNCH();
  });
}

}  // namespace twill::cuda
