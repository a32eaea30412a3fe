// SPDX-License-Identifier: Apache-2.0
// The way of sparse_product.h for Ampere and whatever follows it: our own kernel around mma.sp, on
// values and positions as packed_layout.h has them.
//
// A block of four warps computes 128 x 128 of D from steps of 64 entries along K, three steps of
// operands in shared memory, two blocks on a multiprocessor. A warp has 64 x 64: of B, which is not
// sparse, it reads 64 bytes for 32 entries of a column, of A 36 of a row, so for 256 cycles of tensor
// cores shared memory is busy for 200 with reads and for 100 with copies. That is the bound, at 85 %.
//
// Where D is a weight gradient it has few tiles and K, the tokens, is long: K is cut into parts by the
// shape alone, whose sums a second kernel adds in order. No atomics, one order of sums.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>

#include "backends/cuda/device/packing/sparse_mma.cuh"
#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/packing/packed_layout.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/sparse_products/sparse_fragments.h"
#include "backends/cuda/sparse_products/sparse_product.h"
#include "backends/cuda/sparse_products/sparse_store_sm80.cuh"

namespace twill::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = kTileM / kWarpM * (kTileN / kWarpN) * kLanes;
constexpr int kStages = 3;
constexpr int kBlocksPerSm = 2;
constexpr int kSlabs = kWarpM / kMmaM, kColumns = kWarpN / kMmaN;  // instructions of a warp

constexpr int kAtomBytes = static_cast<int>(kAtomHalves) * 2;
constexpr int kAtomsOfTile = kTileM / static_cast<int>(kAtom);
static_assert(kTileK == kAtom && kWarpM == kAtom, "a warp's positions are an atom's");

// A stage: A, B, positions. Both ways a tile lies it has as many bytes.
constexpr int kBytesOfA = tile_of_a(true).num_bytes(), kBytesOfB = tile_of_b(true).num_bytes();
constexpr int kStageBytes = kBytesOfA + kBytesOfB + kAtomsOfTile * kAtomBytes;
constexpr int kSharedBytes = kStages * kStageBytes;
static_assert(kBytesOfA == tile_of_a(false).num_bytes() &&
              kBytesOfB == tile_of_b(false).num_bytes());

// f32 sums of a tile, a column of D after the other. A lane's eight rows and four pairs of columns
// fall into 32 different banks when a column begins four banks on.
constexpr int kStagedPitch = kTileM + 4;
static_assert(kTileN * kStagedPitch * 4 <= kSharedBytes, "they lie where operands were");
static_assert(2 * kStagedPitch % 32 == 8);

using Sums = float[kSlabs][kColumns][4];

struct Problem {
  SparseProduct product;
  SparseOrder order;
  int tiles_m, tiles_n, steps;  // along M, N and K
  int parts;                    // of K, gridDim.y
  float* partial;               // a D for each part, where there are several
};

// Rows and columns of a matrix from (row, col) on, zeros outside of it or without need. No branch, so
// that addresses are worked out between the instructions of the tensor cores.
template <bool kAlongK, bool kIsA>
__device__ __forceinline__ void copy_tile(SharedAddress tile, const Bf16* matrix, std::int64_t rows,
                                          std::int64_t cols, std::int64_t row, std::int64_t col,
                                          bool is_needed) {
  constexpr TileShape kShape = kIsA ? tile_of_a(kAlongK) : tile_of_b(kAlongK);
  constexpr int kPieces = kShape.row_pieces, kRowsAtOnce = kThreads / kPieces;
  const int thread = static_cast<int>(threadIdx.x);
  const int down = thread / kPieces, piece = thread % kPieces;
  row += down;
  col += piece * kPiece;
  const std::int64_t rows_left = is_needed && col < cols ? rows - row : 0;
  const int last = static_cast<int>(rows_left < kShape.rows ? rows_left : kShape.rows);
  const Bf16* from = matrix + row * cols + col;
#pragma unroll
  for (int i = 0; i < kShape.rows; i += kRowsAtOnce) {
    copy16_or_zeros_async(tile + piece_byte(kPieces, down + i, piece), from, i < last);
    from += kRowsAtOnce * cols;
  }
}

// Atoms below the matrix's last one have that one's positions, legal ones, for rows that are not kept.
__device__ __forceinline__ void copy_positions(SharedAddress to, const SparseProduct& p, int tile_m,
                                               int step, bool is_needed) {
  constexpr int kPiecesOfAtom = kAtomBytes / kPieceBytes;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= kAtomsOfTile * kPiecesOfAtom) return;
  const std::int64_t down = ceil_div(p.m, kAtom);
  const std::int64_t wanted = std::int64_t{tile_m} * kAtomsOfTile + thread / kPiecesOfAtom;
  const std::int64_t whole = p.whole_atoms_down != 0 ? p.whole_atoms_down : down;
  const std::int64_t atom = (wanted < down ? wanted : down - 1) + step * whole;
  const char* from = static_cast<const char*>(p.positions) + atom * kAtomBytes;
  copy16_or_zeros_async(to + thread * kPieceBytes, from + thread % kPiecesOfAtom * kPieceBytes,
                        is_needed);
}

template <bool kAlongK>
__device__ __forceinline__ void copy_step(SharedAddress stage, const SparseProduct& p,
                                          const TilePlace& tile, int step, bool is_needed) {
  const auto* values = static_cast<const Bf16*>(p.values);
  const auto* b = static_cast<const Bf16*>(p.b);
  const std::int64_t row_values = ceil_div(p.k, 4) * 2;
  const std::int64_t m = std::int64_t{tile.m} * kTileM, n = std::int64_t{tile.n} * kTileN;
  const std::int64_t k = std::int64_t{step} * kTileK, s = std::int64_t{step} * kTileValues;
  if constexpr (kAlongK) {
    copy_tile<true, true>(stage, values, p.m, row_values, m, s, is_needed);
    copy_tile<true, false>(stage + kBytesOfA, b, p.n, p.k, n, k, is_needed);
  } else {
    copy_tile<false, true>(stage, values, row_values, p.m, s, m, is_needed);
    copy_tile<false, false>(stage + kBytesOfA, b, p.k, p.n, k, n, is_needed);
  }
  copy_positions(stage + kBytesOfA + kBytesOfB, p, tile.m, step, is_needed);
}

// Where a warp's part of the tile begins, and where a lane's sums stand in those of an instruction:
// rows `row` and row + 8, columns `col` and col + 1.
struct WarpPlace {
  int lane, m, n;
  int row, col;
};

__device__ __forceinline__ WarpPlace warp_place() {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kLanes, lane = thread % kLanes;
  constexpr int kDown = kTileM / kWarpM;
  return {lane, warp % kDown * kWarpM, warp / kDown * kWarpN, lane / 4, lane % 4 * 2};
}

// Half a step: 32 entries along K.
template <bool kAlongK, int kHalf>
__device__ __forceinline__ void multiply_half(SharedAddress stage, const WarpPlace& warp,
                                              const uint2 (&positions)[kSlabs / 2], Sums& sums) {
  const SharedAddress a_tile = stage, b_tile = stage + kBytesOfA;
  uint4 a[kSlabs];
#pragma unroll
  for (int i = 0; i < kSlabs; ++i)
    a[i] = read_matrices<!kAlongK>(
        a_tile + byte_of_a(kAlongK, warp.lane, warp.m + i * kMmaM, kHalf * kMmaValues));
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const uint4 b = read_matrices<!kAlongK>(
        b_tile + byte_of_b(kAlongK, warp.lane, warp.n + j * kMmaN, kHalf * kMmaK));
#pragma unroll
    for (int i = 0; i < kSlabs; i += 2) {
      const unsigned words = kHalf == 0 ? positions[i / 2].x : positions[i / 2].y;
      multiply_add24<0>(sums[i][j], a[i], b, words);
      multiply_add24<1>(sums[i + 1][j], a[i + 1], b, words);
    }
  }
}

// Sums over steps `first` to `last`. Copies of the step after next are under way while one is
// multiplied; one barrier a step says both that copies have arrived and that a stage is free.
template <bool kAlongK>
__device__ __forceinline__ void multiply(const SparseProduct& p, const TilePlace& tile, int first,
                                         int last, SharedAddress shared, const WarpPlace& warp,
                                         Sums& sums) {
  const auto stage_of = [&](int step) { return shared + (step - first) % kStages * kStageBytes; };
  const auto begin_copies = [&](int step) {
    copy_step<kAlongK>(stage_of(step), p, tile, step, step < last);
    commit_copies();
  };
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) begin_copies(first + i);
  for (int step = first; step < last; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();
    const SharedAddress stage = stage_of(step);
    const SharedAddress atom =
        stage + kBytesOfA + kBytesOfB + warp.m / static_cast<int>(kAtom) * kAtomBytes;
    uint2 positions[kSlabs / 2];
#pragma unroll
    for (int pair = 0; pair < kSlabs / 2; ++pair)
      positions[pair] = read_two_words(atom + byte_of_positions(warp.lane, pair));
    multiply_half<kAlongK, 0>(stage, warp, positions, sums);
    begin_copies(step + kStages - 1);
    multiply_half<kAlongK, 1>(stage, warp, positions, sums);
  }
  wait_for_copies<0>();
  __syncthreads();  // now shared memory is free
}

// D with M inside. Lanes have columns of it, memory wants rows: sums pass through shared memory, in
// f32 so that what is added to them meets no rounding.
template <SparseEpilogue kEpilogue>
__device__ __forceinline__ void store_tokens(const SparseProduct& p, const TilePlace& tile,
                                             float* staged, const WarpPlace& warp,
                                             const Sums& sums) {
#pragma unroll
  for (int i = 0; i < kSlabs; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        staged[(warp.n + j * kMmaN + warp.col + e % 2) * kStagedPitch + warp.m + i * kMmaM +
               warp.row + e / 2 * 8] = sums[i][j][e];
  __syncthreads();
  constexpr int kPieces = kTileM / kPiece, kTokensAtOnce = kThreads / kPieces;
  const int thread = static_cast<int>(threadIdx.x), m_in = thread % kPieces * kPiece;
  const std::int64_t m = std::int64_t{tile.m} * kTileM + m_in;
  if (m >= p.m) return;
  float bias[kPiece] = {};
  if (!multiplies_by_slope(kEpilogue) && p.bias != nullptr)
    load(static_cast<const Bf16*>(p.bias) + m, bias);
  for (int n_in = thread / kPieces; n_in < kTileN; n_in += kTokensAtOnce) {
    const std::int64_t n = std::int64_t{tile.n} * kTileN + n_in;
    if (n >= p.n) return;
    float sum[kPiece];
#pragma unroll
    for (int q = 0; q < kPiece; q += 4) {
      const auto four = *reinterpret_cast<float4*>(staged + n_in * kStagedPitch + m_in + q);
      sum[q] = four.x, sum[q + 1] = four.y, sum[q + 2] = four.z, sum[q + 3] = four.w;
    }
    store_eight<kEpilogue>(p, n, m, bias, sum);
  }
}

// D with N inside, f32: four lanes have 32 neighbouring bytes.
__device__ __forceinline__ void store_gradient(const SparseProduct& p, const TilePlace& tile,
                                               float* d, const float* addend, const WarpPlace& warp,
                                               const Sums& sums) {
#pragma unroll
  for (int i = 0; i < kSlabs; ++i)
#pragma unroll
    for (int low = 0; low < 2; ++low) {
      const std::int64_t m =
          std::int64_t{tile.m} * kTileM + warp.m + i * kMmaM + warp.row + low * 8;
      if (m >= p.m) continue;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const std::int64_t n = std::int64_t{tile.n} * kTileN + warp.n + j * kMmaN + warp.col;
        if (n >= p.n) continue;
        float sum[2] = {sums[i][j][2 * low], sums[i][j][2 * low + 1]};
        if (addend != nullptr) {
          float held[2];
          load(addend + m * p.n + n, held);
          sum[0] += held[0];
          sum[1] += held[1];
        }
        store(d + m * p.n + n, sum);
      }
    }
}

template <SparseEpilogue kEpilogue>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void sparse_product_kernel(const Problem problem) {
  constexpr bool kIsGradient = kEpilogue == SparseEpilogue::kWeightGradient;
  extern __shared__ uint4 sparse_product_shared[];
  const SparseProduct& p = problem.product;
  const TilePlace tile = tile_place(static_cast<int>(blockIdx.x), problem.tiles_m, problem.tiles_n,
                                    problem.order.along_n, problem.order.swizzle);
  const int part = static_cast<int>(blockIdx.y);
  const auto begin_of = [&](std::int64_t i) {
    return static_cast<int>(i * problem.steps / problem.parts);
  };
  const WarpPlace warp = warp_place();
  Sums sums = {};
  multiply<!kIsGradient>(p, tile, begin_of(part), begin_of(part + 1),
                         address_of(sparse_product_shared), warp, sums);
  if constexpr (!kIsGradient) {
    store_tokens<kEpilogue>(p, tile, reinterpret_cast<float*>(sparse_product_shared), warp, sums);
  } else if (problem.parts == 1) {
    store_gradient(p, tile, static_cast<float*>(p.d), static_cast<const float*>(p.addend), warp,
                   sums);
  } else {
    store_gradient(p, tile, problem.partial + part * p.m * p.n, nullptr, warp, sums);
  }
}

// d = Σ parts [+ addend], in order, the addend last; four elements a thread.
__global__ void add_parts_kernel(const float* parts, int num_parts, std::int64_t count,
                                 const float* addend, float* d) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * 4;
  if (at >= count) return;
  float sum[4] = {};
  for (int part = 0; part < num_parts; ++part) {
    float more[4];
    load(parts + part * count + at, more);
    for (int i = 0; i < 4; ++i) sum[i] += more[i];
  }
  if (addend != nullptr) {
    float held[4];
    load(addend + at, held);
    for (int i = 0; i < 4; ++i) sum[i] += held[i];
  }
  store(d + at, sum);
}

template <SparseEpilogue kEpilogue>
struct MmaWay {
  static constexpr bool kIsGradient = kEpilogue == SparseEpilogue::kWeightGradient;

  static Problem problem_of(const SparseProduct& p, SparseOrder order, int num_sms) {
    Problem problem{.product = p,
                    .order = order,
                    .tiles_m = static_cast<int>(ceil_div(p.m, kTileM)),
                    .tiles_n = static_cast<int>(ceil_div(p.n, kTileN)),
                    .steps = static_cast<int>(ceil_div(p.k, kTileK)),
                    .parts = 1,
                    .partial = nullptr};
    if (kIsGradient)
      problem.parts = parts_of_k(std::int64_t{problem.tiles_m} * problem.tiles_n, problem.steps,
                                 std::int64_t{std::max(num_sms, 1)} * kBlocksPerSm);
    return problem;
  }

  static bool takes(const SparseProduct& p) {
    // Orders count tiles in int, eight of them across.
    constexpr std::int64_t kMostTiles = std::numeric_limits<int>::max() / 8;
    for (const void* operand : std::initializer_list<const void*>{
             p.values, p.positions, p.b, p.d, p.bias, p.addend, p.before, p.value})
      if (reinterpret_cast<std::uintptr_t>(operand) % kPieceBytes != 0) return false;
    const bool has_whole_pieces = p.m % kPiece == 0 && p.d_pitch % kPiece == 0 &&
                                  p.before_pitch % kPiece == 0 &&
                                  (kIsGradient ? p.n % 8 : p.k % 16) == 0;
    return has_whole_pieces && p.m > 0 && p.n > 0 && p.k > 0 &&
           ceil_div(p.m, kTileM) * ceil_div(p.n, kTileN) <= kMostTiles;
  }

  static std::int64_t workspace(const SparseProduct& p, SparseOrder order, int num_sms) {
    if (!takes(p)) return -1;
    const Problem problem = problem_of(p, order, num_sms);
    return problem.parts == 1 ? 0 : problem.parts * p.m * p.n * std::int64_t{sizeof(float)};
  }

  static bool launch(const SparseProduct& p, SparseOrder order, int num_sms, std::byte* workspace,
                     cudaStream_t stream) {
    Problem problem = problem_of(p, order, num_sms);
    problem.partial = reinterpret_cast<float*>(workspace);
    const auto kernel = sparse_product_kernel<kEpilogue>;
    TWILL_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
    const dim3 grid(static_cast<unsigned>(problem.tiles_m * problem.tiles_n),
                    static_cast<unsigned>(problem.parts));
    kernel<<<grid, kThreads, kSharedBytes, stream>>>(problem);
    TWILL_CUDA_CHECK_LAUNCH();
    if (problem.parts == 1) return true;
    constexpr int kAddThreads = 256;
    const std::int64_t count = p.m * p.n;
    add_parts_kernel<<<static_cast<unsigned>(ceil_div(count, kAddThreads * 4)), kAddThreads, 0,
                       stream>>>(problem.partial, problem.parts, count,
                                 static_cast<const float*>(p.addend), static_cast<float*>(p.d));
    TWILL_CUDA_CHECK_LAUNCH();
    return true;
  }

  static SparseWay way() {
    return {.name = "mma.sp 128x128",
            .workspace = workspace,
            .launch = launch,
            .oldest_generation = 80};
  }
};

template <int... kNumbers>
SparseWay way_number(std::size_t number, std::integer_sequence<int, kNumbers...>) {
  const SparseWay all[] = {MmaWay<static_cast<SparseEpilogue>(kNumbers)>::way()...};
  return all[number];
}

}  // namespace

SparseWay sparse_way_sm80(SparseEpilogue epilogue) {
  return way_number(static_cast<std::size_t>(epilogue),
                    std::make_integer_sequence<int, kSparseEpilogues>());
}

}  // namespace twill::cuda
