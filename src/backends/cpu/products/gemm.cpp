// SPDX-License-Identifier: Apache-2.0
// gemm on the cpu: c is cut into tiles by its shape alone, and each tile is one single-threaded
// product of oneDNN. Bias and addend are written into the tile first and the product adds to them,
// so there is no pass over c afterwards.
//
// Bound by FMAs. The tiles cost up to 5 % against one plain call with all threads
// (bench/ops/gemm_bench.cpp measures the ratio). A tile's bits depend on its operands and
// its shape, so neither the number of threads nor their order changes a result.
#include "ops/products/gemm.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/numbers/pointwise_simd.h"
#include "backends/cpu/products/operand.h"
#include "backends/cpu/products/sgemm.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

// c is cut into four tiles, or a multiple of four when they would be larger than this (16 MB): work
// for a few threads at the least cost. Sixteen tiles of 512 x 512 run 3 % slower than four of
// 512 x 2048.
constexpr std::int64_t kTiles = 4;
constexpr std::int64_t kMaxTileSize = 1 << 22;
// Below this many multiply-adds (40 us) a product is not worth handing out.
constexpr std::int64_t kSmallWork = 1 << 21;

// Every tile packs its operands again, which costs kPackCost / rows + kPackCost / cols of its time.
// Packing b for tiles of few rows is cheaper when b is not transposed and stays in the last-level
// cache. Fitted to single-thread times of the shapes in bench/ops/gemm_bench.cpp.
constexpr double kPackCost = 18.0;
constexpr double kCheapPackCost = 3.0;
constexpr std::int64_t kCachedSize = 1 << 21;  // 8 MB

struct TileShape {
  std::int64_t rows;
  std::int64_t cols;
};

std::int64_t pieces(std::int64_t extent, std::int64_t piece) {
  return (extent + piece - 1) / piece;
}

// `count` equal pieces, in multiples of a vector.
std::int64_t even_piece(std::int64_t extent, std::int64_t count) {
  constexpr std::int64_t kVector = 16;
  return std::min(extent, pieces(pieces(extent, count), kVector) * kVector);
}

// The cut into `count` tiles that packs least.
TileShape cheapest_cut(const GemmArgs& args, std::int64_t count) {
  const bool is_cheap = !args.trans_b && args.k() * args.n() <= kCachedSize;
  const double row_cost = is_cheap ? kCheapPackCost : kPackCost;
  TileShape best{args.m(), args.n()};
  double best_cost = std::numeric_limits<double>::infinity();
  for (std::int64_t down = 1; down <= count; ++down) {
    if (count % down != 0) continue;
    const TileShape tile{even_piece(args.m(), down), even_piece(args.n(), count / down)};
    const double cost = (down > 1 ? row_cost / static_cast<double>(tile.rows) : 0.0) +
                        (down < count ? kPackCost / static_cast<double>(tile.cols) : 0.0);
    if (cost < best_cost) best = tile;
    best_cost = std::min(cost, best_cost);
  }
  return best;
}

// Depends on the shape alone.
TileShape choose_tile(const GemmArgs& args) {
  const std::int64_t size = args.m() * args.n();
  if (size * args.k() <= kSmallWork) return {args.m(), args.n()};
  return cheapest_cut(args, kTiles * pieces(size, kTiles * kMaxTileSize));
}

// Writes bias and addend where the product will be added. True when c then holds something.
bool prefill(const GemmArgs& args, std::int64_t row, std::int64_t col, TileShape tile) {
  const float* bias = data_of(args.bias);
  const float* addend = data_of(args.addend);
  if (bias == nullptr && addend == nullptr) return args.accumulate;
  for (std::int64_t i = row; i < row + tile.rows; ++i) {
    float* c = args.c.as<float>() + i * args.n() + col;
    const float* terms[] = {args.accumulate ? c : nullptr, bias == nullptr ? nullptr : bias + col,
                            addend == nullptr ? nullptr : addend + i * args.n() + col};
    add_terms(terms, c, tile.cols);
  }
  return true;
}

// The product of one tile, written to c or added to it.
SgemmArgs tile_product(const GemmArgs& args, std::int64_t row, std::int64_t col, TileShape tile,
                       bool add_to_c) {
  const std::int64_t lda = args.a.cols(), ldb = args.b.cols(), ldc = args.n();
  return {.trans_a = args.trans_a,
          .trans_b = args.trans_b,
          .m = tile.rows,
          .n = tile.cols,
          .k = args.k(),
          .a = args.a.as<float>() + (args.trans_a ? row : row * lda),
          .lda = lda,
          .b = args.b.as<float>() + (args.trans_b ? col * ldb : col),
          .ldb = ldb,
          .beta = add_to_c ? 1.0f : 0.0f,
          .c = args.c.as<float>() + row * ldc + col,
          .ldc = ldc};
}

void run_tile(const GemmArgs& args, std::int64_t row, std::int64_t col, TileShape tile) {
  const bool add_to_c = prefill(args, row, col, tile);
  sgemm(tile_product(args, row, col, tile, add_to_c));
}

}  // namespace

void gemm(const GemmArgs& args, const Device&, Queue& queue) {
  const std::int64_t m = args.m(), n = args.n();
  if (m == 0 || n == 0) return;
  const TileShape tile = choose_tile(args);
  const std::int64_t across = pieces(n, tile.cols);
  run_tasks(queue, pieces(m, tile.rows) * across, [&](std::int64_t index, int) {
    const std::int64_t row = index / across * tile.rows, col = index % across * tile.cols;
    run_tile(args, row, col, {std::min(tile.rows, m - row), std::min(tile.cols, n - col)});
  });
}

void plain_gemm(const GemmArgs& args, const Device& device, Queue&) {
  sgemm(tile_product(args, 0, 0, {args.m(), args.n()}, args.accumulate), device.num_threads);
}

}  // namespace twill::cpu
