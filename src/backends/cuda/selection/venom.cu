// SPDX-License-Identifier: Apache-2.0
// V:2:M selection on CUDA: tiles of whole blocks in shared memory (device/venom_tile.cuh); blocks
// that do not fit there, warp by warp (device/venom_wide.cuh).
//
// 3 B per element of bf16, x read once and the mask written: 315 MB at 16384 x 6400, 74 us at
// 4.26 TB/s. A tile of 64:2:8 is 64 x 64, 8.5 KB: eight blocks of 256 threads on an SM hold 64 KB
// in different phases. Bound by shared memory and latency rather than by bytes: half of a copy.
//
// The sums of magnitudes, for reports: f64 in the contract's order, so a lane per row of the
// pattern, from tiles of 32 x 32, and one chain over the rows: about 0.3 ms, on measuring steps.
#include "ops/selection/venom.h"

#include <algorithm>
#include <cstdint>

#include "backends/cuda/device/ordered_sums.cuh"
#include "backends/cuda/device/selection/venom_tile.cuh"
#include "backends/cuda/device/selection/venom_wide.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr std::int64_t kMaxShared = 48 << 10;  // what a kernel may use without asking
constexpr std::int64_t kMaxWindow = 256;       // ranks cost m comparisons per column
constexpr std::int64_t kTileElements = 4096;   // wanted
constexpr std::int64_t kTileRows = 32, kTileColumns = 128;

struct TilePlan {
  VenomTile tile;
  std::int64_t bytes;
};

template <class Bits>
TilePlan plan_of(const VenomGrid& grid, bool within_row, std::int64_t blocks,
                 std::int64_t windows) {
  const std::int64_t p = blocks * grid.v, q = windows * grid.m;
  const std::int64_t lines = within_row ? p : q, width = within_row ? q : p;
  constexpr std::int64_t kPerWord = 4 / sizeof(Bits);
  const std::int64_t line = (ceil_div(width, kPerWord) | 1) * kPerWord;
  const std::int64_t scores = blocks * q * (sizeof(float) + sizeof(std::uint8_t));
  const std::int64_t survivors = blocks * windows * 4 * sizeof(std::uint16_t);
  return {
      .tile = {.p = static_cast<int>(p), .q = static_cast<int>(q), .line = static_cast<int>(line)},
      .bytes = lines * line * static_cast<std::int64_t>(sizeof(Bits)) + scores + survivors};
}

// The largest tile that is wanted and fits; more than kMaxShared bytes where none does.
template <class Bits>
TilePlan choose_tile(const VenomGrid& grid, bool within_row) {
  std::int64_t blocks = std::max<std::int64_t>(kTileRows / grid.v, 1);
  const std::int64_t columns =
      std::clamp<std::int64_t>(kTileElements / (blocks * grid.v), 1, kTileColumns);
  std::int64_t windows = std::max<std::int64_t>(columns / grid.m, 1);
  TilePlan plan = plan_of<Bits>(grid, within_row, blocks, windows);
  while (plan.bytes > kMaxShared && (blocks > 1 || windows > 1)) {
    if (windows > 1)
      windows /= 2;
    else
      blocks /= 2;
    plan = plan_of<Bits>(grid, within_row, blocks, windows);
  }
  return plan;
}

template <class Bits, bool kWithinRow>
void select(const VenomSelectArgs& args, const VenomGrid& grid, cudaStream_t stream) {
  const auto* x = pointer<Bits>(args.x);
  auto* const mask = pointer<std::uint8_t>(args.mask);
  const bool flags_survivors{args.mass};
  // A block this large has no tile: its size must not overflow the plan's arithmetic.
  const bool may_fit = grid.m <= kMaxWindow && grid.v <= kMaxShared;
  const TilePlan plan =
      may_fit ? choose_tile<Bits>(grid, kWithinRow) : TilePlan{{}, kMaxShared + 1};
  if (plan.bytes > kMaxShared) {
    const std::int64_t items = ceil_div(grid.P, grid.v) * ceil_div(grid.Q, grid.m);
    const auto blocks = static_cast<unsigned>(ceil_div(items, kWideWarps));
    venom_wide_kernel<Bits, kWithinRow>
        <<<blocks, kWideWarps * kWarp, 0, stream>>>(x, mask, grid, flags_survivors);
    TWILL_CUDA_CHECK_LAUNCH();
    return;
  }
  const VenomTile& tile = plan.tile;
  constexpr int kN = 16 / static_cast<int>(sizeof(Bits));
  const bool whole = grid.column_order == nullptr && is_aligned({args.x, args.mask}) &&
                     grid.cols % kN == 0 && (kWithinRow ? tile.q : tile.p) % kN == 0;
  const auto blocks = static_cast<unsigned>(ceil_div(grid.P, tile.p) * ceil_div(grid.Q, tile.q));
  const auto kernel = whole ? venom_tile_kernel<Bits, kWithinRow, true>
                            : venom_tile_kernel<Bits, kWithinRow, false>;
  kernel<<<blocks, kVenomThreads, static_cast<std::size_t>(plan.bytes), stream>>>(
      x, mask, grid, tile, flags_survivors);
  TWILL_CUDA_CHECK_LAUNCH();
}

// sums (P, 3): of all, of what survives, of what is kept; a warp per 32 rows of the pattern. Leaves
// the mask with what is kept alone. A zero more changes no bit.
template <class Bits, bool kWithinRow>
__global__ __launch_bounds__(kWarp) void row_mass_kernel(const Bits* __restrict__ x,
                                                         std::uint8_t* __restrict__ mask,
                                                         VenomGrid grid,
                                                         double* __restrict__ sums) {
  __shared__ float sizes[kWarp][kWarp + 1];
  __shared__ std::uint8_t flags[kWarp][kWarp + 4];
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t p0 = std::int64_t{blockIdx.x} * kWarp;
  double all = 0.0, surviving = 0.0, kept = 0.0;
  for (std::int64_t q0 = 0; q0 < grid.Q; q0 += kWarp) {
#pragma unroll 8
    for (int line = 0; line < kWarp; ++line) {
      const int p = kWithinRow ? line : lane, q = kWithinRow ? lane : line;
      const bool inside = p0 + p < grid.P && q0 + q < grid.Q;
      const std::int64_t i = inside ? grid.template index<kWithinRow>(p0 + p, q0 + q) : 0;
      const unsigned flag = inside ? mask[i] : 0u;
      sizes[p][q] = inside ? venom_value(venom_size(x[i])) : 0.0f;
      flags[p][q] = static_cast<std::uint8_t>(flag);
      if (inside) mask[i] = static_cast<std::uint8_t>(flag & kKeptFlag);
    }
    __syncwarp();
#pragma unroll 8
    for (int q = 0; q < kWarp; ++q) {
      const auto size = static_cast<double>(sizes[lane][q]);
      const unsigned flag = flags[lane][q];
      all += size;
      surviving += (flag & kSurvivesFlag) != 0 ? size : 0.0;
      kept += (flag & kKeptFlag) != 0 ? size : 0.0;
    }
    __syncwarp();
  }
  if (p0 + lane >= grid.P) return;
  double* const sum = sums + 3 * (p0 + lane);
  sum[0] = all, sum[1] = surviving, sum[2] = kept;
}

template <class Bits, bool kWithinRow>
void run(const VenomSelectArgs& args, const VenomGrid& grid, Queue& queue) {
  const cudaStream_t stream = stream_of(queue);
  if (args.x.num_elements() > 0) select<Bits, kWithinRow>(args, grid, stream);
  if (!args.mass) return;
  auto* const sums = reinterpret_cast<double*>(
      reduction_scratch(queue, 3 * grid.P * std::int64_t{sizeof(double)}));
  if (grid.P > 0) {
    row_mass_kernel<Bits, kWithinRow>
        <<<static_cast<unsigned>(ceil_div(grid.P, kWarp)), kWarp, 0, stream>>>(
            pointer<Bits>(args.x), pointer<std::uint8_t>(args.mask), grid, sums);
    TWILL_CUDA_CHECK_LAUNCH();
  }
  ordered_sums_kernel<3>
      <<<1, kOrderedThreads, 0, stream>>>(sums, grid.P, pointer<double>(args.mass));
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class Bits>
void run_along(const VenomSelectArgs& args, const VenomGrid& grid, Queue& queue) {
  if (args.along == GroupAxis::kWithinRow) return run<Bits, true>(args, grid, queue);
  run<Bits, false>(args, grid, queue);
}

}  // namespace

void venom_select(const VenomSelectArgs& args, const Device&, Queue& queue) {
  const bool within_row = args.along == GroupAxis::kWithinRow;
  const std::int64_t rows = args.x.rows(), cols = args.x.cols();
  const std::int64_t P = within_row ? rows : cols, Q = within_row ? cols : rows;
  const VenomGrid grid{.row_order = pointer<std::int32_t>(args.row_order),
                       .column_order = pointer<std::int32_t>(args.column_order),
                       .rows = rows,
                       .cols = cols,
                       .P = P,
                       .Q = Q,
                       .v = std::clamp<std::int64_t>(P, 1, args.v),
                       .m = std::clamp<std::int64_t>(Q, 1, args.m)};
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    if constexpr (sizeof(T) == 4) return run_along<std::uint32_t>(args, grid, queue);
    return run_along<std::uint16_t>(args, grid, queue);
  });
}

}  // namespace twill::cuda
