// SPDX-License-Identifier: Apache-2.0
// A 2:4 matrix, its transposed, or both from one reading, packed for times_packed (packed_layout.h,
// rows whole). A block takes 64 x 64 entries, an atom on either side; a thread 4 x 4 of them: four
// groups of the matrix and four of the transposed. Groups of neighbours meet in shared memory, from
// where rows are stored in pieces of 16 bytes, 64 bytes a row, and the 512 bytes of an atom.
//
// A launch takes up to 32 matrices: alone, one of 3072 x 768 is over before memory is busy (8.3 us, 49 %
// of a copy; seventeen together 95 %).
//
// Bound by memory: both sides of f32 masters move 4 + 1 + 2.25 B per weight (74 MB at 1600 x 6400,
// 17 us at 4.26 TB/s); where positions hold they are read in place of the mask, 4 + 0.125 + 2 B. A
// thread has 80 B in flight, an SM 100 KB. Its 116 B leave time for some 800 instructions; it has
// about 300.
#include "backends/cuda/packing/pack_tiles.h"

#include <algorithm>
#include <span>
#include <vector>

#include "backends/cuda/device/packing/pack24_pair.cuh"
#include "backends/cuda/packing/pack_staging.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"
#include "ops/packing/pack_both.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;    // of an atom: 16 x 16 blocks of 4 x 4
constexpr int kBlocksPerSm = 5;  // 48 registers a thread
constexpr int kAtomWords = kAtomHalves / 2;

enum class KeptFrom { kMask, kValues, kPositions };

constexpr int kAtOnce = 32;

// Where one side of the packing goes.
struct PackedOut {
  __nv_bfloat16* values;
  unsigned* positions;
};

template <class Dense>
struct Matrix {
  const Dense* dense;
  const std::uint8_t* mask;
  PackedOut plain, turned;
  unsigned rows, cols;

  __host__ __device__ unsigned across() const { return (cols + kAtom - 1) / kAtom; }
  __host__ __device__ unsigned tiles() const { return across() * ((rows + kAtom - 1) / kAtom); }
};

template <class Dense>
struct Matrices {
  Matrix<Dense> all[kAtOnce];
};
static_assert(sizeof(Matrices<float>) <= 4096, "what every driver takes as parameters of a kernel");

// The packed rows of an atom, in the order of pack_staging.h.
struct StagedAtom {
  uint4 values[kStagedValues / 4];
  unsigned codes[kStagedCodes];

  __device__ __forceinline__ void put(unsigned row, unsigned group, unsigned pair) {
    reinterpret_cast<unsigned*>(values)[staged_value(row, group)] = pair;
  }
  __device__ __forceinline__ void put_code(unsigned row, unsigned group, unsigned code) {
    reinterpret_cast<std::uint8_t*>(codes)[4 * staged_code(row, group / 4) + group % 4] =
        static_cast<std::uint8_t>(code);
  }
  // Eight values of sixteen entries.
  __device__ __forceinline__ uint4 piece(unsigned row, unsigned sixteen) const {
    return values[staged_value(row, 4 * sixteen) / 4];
  }
  __device__ __forceinline__ unsigned positions(unsigned row, unsigned sixteen) const {
    return word_of_codes(codes[staged_code(row, sixteen)]);
  }
};

// The atom's place among those of a side.
struct AtomAt {
  std::int64_t row, col;  // of its first entry
  std::int64_t number;

  __device__ __forceinline__ AtomAt(unsigned down, unsigned across, unsigned rows)
      : row(std::int64_t{down} * kAtom),
        col(std::int64_t{across} * kAtom),
        number(down + across * ((rows + kAtom - 1) / kAtom)) {}
};

// Kept entries of a thread's four groups in one side's positions, four bits each.
__device__ __forceinline__ unsigned sets_of_positions(const PackedOut& side, const AtomAt& atom,
                                                      unsigned row, unsigned group) {
  const auto* words = reinterpret_cast<const std::uint16_t*>(side.positions) +
                      atom.number * kAtomHalves + word_in_atom(row, 4 * group);
  unsigned sets = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)  // rows of one eight: four words apart
    sets |= set_of_code(words[4 * i] >> (4 * (group % 4)) & 0xfu) << (4 * i);
  return sets;
}

// Of (rows, cols) behind the transposition.
template <bool kHasCodes>
__device__ __forceinline__ void store_side(const StagedAtom& staged, const PackedOut& side,
                                           unsigned rows, unsigned cols, const AtomAt& atom,
                                           unsigned first_thread) {
  const unsigned row = threadIdx.x / 4, sixteen = threadIdx.x % 4;
  if (atom.row + row < rows && atom.col + 16 * sixteen < cols) {
    const std::int64_t at = (atom.row + row) * (cols / 2) + atom.col / 2 + 8 * sixteen;
    *reinterpret_cast<uint4*>(side.values + at) = staged.piece(row, sixteen);
  }
  // A word of 32 bits has rows m and m + 8.
  const unsigned word = threadIdx.x - first_thread;
  if (!kHasCodes || word >= kAtomWords) return;
  const unsigned m = word / 2 % 8 + 16 * (word / 32), k = 2 * (word % 2) + word / 16 % 2;
  side.positions[atom.number * kAtomWords + word] =
      staged.positions(m, k) | staged.positions(m + 8, k) << 16;
}

template <class Dense, bool kPlain, bool kTurned, KeptFrom kFrom>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void pack_tiles_kernel(
    const __grid_constant__ Matrices<Dense> matrices) {
  __shared__ StagedAtom staged[kPlain && kTurned ? 2 : 1];
  constexpr bool kHasCodes = kFrom != KeptFrom::kPositions;
  // A warp has 16 rows of 32 columns: whole sectors of the dense matrix and of the mask.
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned down = warp / 2 * 4 + lane / 8, across = warp % 2 * 8 + lane % 8;
  const Matrix<Dense>& a = matrices.all[blockIdx.y];
  if (blockIdx.x >= a.tiles()) return;  // the largest has as many as there are
  const unsigned atoms_down = blockIdx.x / a.across(), atoms_across = blockIdx.x % a.across();
  const AtomAt plain(atoms_down, atoms_across, a.rows), turned(atoms_across, atoms_down, a.cols);
  const std::int64_t row = plain.row + 4 * down, col = plain.col + 4 * across;

  unsigned x[4][4] = {};  // beyond the end zeros, whose positions are the idle ones
  unsigned kept = 0, turned_kept = 0;
  if (row < a.rows && col < a.cols) {
    const std::int64_t at = row * a.cols + col;
    unsigned flags[4] = {};
#pragma unroll
    for (int r = 0; r < 4; ++r) read_bits<true>(a.dense + at + r * std::int64_t{a.cols}, x[r]);
    if constexpr (kFrom == KeptFrom::kMask) {
#pragma unroll
      for (int r = 0; r < 4; ++r)
        flags[r] = *reinterpret_cast<const unsigned*>(a.mask + at + r * std::int64_t{a.cols});
#pragma unroll
      for (int r = 0; r < 4; ++r) kept |= bits_of_flags(flags[r]) << (4 * r);
    } else if constexpr (kFrom == KeptFrom::kPositions && kPlain) {
      kept = sets_of_positions(a.plain, plain, 4 * down, across);
    } else if constexpr (kFrom == KeptFrom::kPositions) {
      turned_kept = sets_of_positions(a.turned, turned, 4 * across, down);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      unsigned& entry = x[i / 4][i % 4];
      if constexpr (kFrom == KeptFrom::kValues)
        kept |= (value_of<Dense>(entry) != 0.0f ? 1u : 0u) << i;  // a NaN is
      if constexpr (kHasCodes) entry = (kept >> i & 1u) != 0 ? entry : 0u;
    }
  }
  if constexpr (kPlain || kHasCodes) turned_kept = turned_bits(kept);

  const auto put = [&](StagedAtom& to, unsigned first_row, unsigned group, int i,
                       const PackedPair& pair) {
    to.put(first_row + i, group, pair.values);
    if constexpr (kHasCodes) to.put_code(first_row + i, group, pair.code);
  };
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kPlain)
      put(staged[0], 4 * down, across, i,
          pack_pair<Dense>(x[i][0], x[i][1], x[i][2], x[i][3], kept >> (4 * i) & 0xfu));
    if constexpr (kTurned)
      put(staged[kPlain ? 1 : 0], 4 * across, down, i,
          pack_pair<Dense>(x[0][i], x[1][i], x[2][i], x[3][i], turned_kept >> (4 * i) & 0xfu));
  }
  __syncthreads();
  if constexpr (kPlain) store_side<kHasCodes>(staged[0], a.plain, a.rows, a.cols, plain, 0);
  if constexpr (kTurned)
    store_side<kHasCodes>(staged[kPlain ? 1 : 0], a.turned, a.cols, a.rows, turned,
                          kPlain ? kAtomWords : 0);
}

PackedOut out_of(View storage, std::int64_t rows, std::int64_t cols) {
  const PackedLayout layout{.rows = rows, .cols = cols};
  auto* positions = storage ? storage.bytes() + layout.positions_begin() : nullptr;
  return {pointer<__nv_bfloat16>(storage), reinterpret_cast<unsigned*>(positions)};
}

template <class Dense>
Matrix<Dense> matrix_of(const TilePacking& args) {
  const std::int64_t rows = args.dense.rows(), cols = args.dense.cols();
  return {.dense = pointer<Dense>(args.dense),
          .mask = pointer<std::uint8_t>(args.mask),
          .plain = out_of(args.plain, rows, cols),
          .turned = out_of(args.turned, cols, rows),
          .rows = static_cast<unsigned>(rows),
          .cols = static_cast<unsigned>(cols)};
}

KeptFrom kept_from(const TilePacking& args) {
  if (args.keeps_positions) return KeptFrom::kPositions;
  return args.mask ? KeptFrom::kMask : KeptFrom::kValues;
}

template <class Dense, bool kPlain, bool kTurned>
auto kernel_for(KeptFrom from) {
  if (from == KeptFrom::kPositions)
    return pack_tiles_kernel<Dense, kPlain, kTurned, KeptFrom::kPositions>;
  return from == KeptFrom::kMask ? pack_tiles_kernel<Dense, kPlain, kTurned, KeptFrom::kMask>
                                 : pack_tiles_kernel<Dense, kPlain, kTurned, KeptFrom::kValues>;
}

template <class Dense>
auto kernel_for(const TilePacking& args) {
  const KeptFrom from = kept_from(args);
  if (args.plain && args.turned) return kernel_for<Dense, true, true>(from);
  return args.plain ? kernel_for<Dense, true, false>(from) : kernel_for<Dense, false, true>(from);
}

bool share_a_kernel(const TilePacking& one, const TilePacking& other) {
  const auto has = [](const View& view) { return view.bytes() != nullptr; };
  return one.dense.dtype() == other.dense.dtype() && kept_from(one) == kept_from(other) &&
         has(one.plain) == has(other.plain) && has(one.turned) == has(other.turned);
}

template <class Dense>
void launch(std::span<const TilePacking> packings, Queue& queue) {
  Matrices<Dense> matrices{};
  unsigned tiles = 0;
  for (std::size_t i = 0; i < packings.size(); ++i) {
    matrices.all[i] = matrix_of<Dense>(packings[i]);
    tiles = std::max(tiles, matrices.all[i].tiles());
  }
  if (tiles == 0) return;
  const dim3 grid(tiles, static_cast<unsigned>(packings.size()));
  kernel_for<Dense>(packings.front())<<<grid, kThreads, 0, stream_of(queue)>>>(matrices);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

bool packs_by_tiles(const PackedShape& shape, std::initializer_list<ConstView> operands) {
  return shape.side == PackedSide::kRight && is_aligned(operands);
}

void pack_tiles(std::span<const TilePacking> packings, Queue& queue) {
  while (!packings.empty()) {
    std::size_t count = 1;
    while (count < std::min<std::size_t>(packings.size(), kAtOnce) &&
           share_a_kernel(packings.front(), packings[count]))
      ++count;
    by_type(packings.front().dense.dtype(),
            [&]<class Dense>(TypeOf<Dense>) { launch<Dense>(packings.first(count), queue); });
    packings = packings.subspan(count);
  }
}

bool packs_both(const PackBothArgs& args) {
  const std::initializer_list<ConstView> operands{args.dense, args.mask, args.storage,
                                                  args.storage_transposed};
  return args.shape.pattern == args.shape_transposed.pattern &&
         packs_by_tiles(args.shape, operands) && packs_by_tiles(args.shape_transposed, operands);
}

void pack_weights(const PackWeightsArgs& args, const Device&, Queue& queue) {
  std::vector<TilePacking> packings;
  for (const PackBothArgs& both : args.weights)
    packings.push_back({.dense = both.dense,
                        .mask = both.mask,
                        .plain = both.storage,
                        .turned = both.storage_transposed,
                        .keeps_positions = holds_positions(both.shape, both.same_mask)});
  pack_tiles(packings, queue);
}

}  // namespace twill::cuda
