// SPDX-License-Identifier: Apache-2.0
// V:2:M selection on the cpu. A task is a few blocks of V rows of the pattern with all their
// windows, so that the sums of a row of the pattern stay with one thread and in order.
//
// The score of a column costs an addition per element, the choice of four columns is shared by V
// rows. Columns in order go through SIMD. Rows whose columns have another order are brought into it
// first, and their masks back behind it: 4096 x 2048 take 13 ms in place of 9 (64:2:8) and 10 in
// place of 3 (1:2:4) on two cores. The plain way, one element at a time, takes 40 to 60; it is left
// for windows other than 4, 8 and 16 within a row and for transposed blocks of several columns.
#include "ops/selection/venom.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/venom_simd.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kElementsPerTask = 32768;

float magnitude(float x) {
  return std::isnan(x) ? std::numeric_limits<float>::infinity() : std::abs(x);
}

// The same as bits, which are ordered like the sizes.
std::int32_t magnitude_bits(float x) {
  return std::min(std::bit_cast<std::int32_t>(x) & 0x7FFF'FFFF, 0x7F80'0000);
}

// The matrix as the pattern sees it: P rows in blocks of V, Q columns in windows of M, by position.
struct Grid {
  explicit Grid(const VenomSelectArgs& args)
      : x(args.x.as<float>()),
        mask(args.mask.as<std::uint8_t>()),
        row_order(args.row_order ? args.row_order.as<std::int32_t>() : nullptr),
        column_order(args.column_order ? args.column_order.as<std::int32_t>() : nullptr),
        is_row(args.along == GroupAxis::kWithinRow),
        P(args.x.shape()[is_row ? 0 : 1]),
        Q(args.x.shape()[is_row ? 1 : 0]),
        C(args.x.shape()[1]) {}

  // Where the row of x at a position begins.
  std::int64_t row_begin(std::int64_t row) const {
    return (row_order != nullptr ? row_order[row] : row) * C;
  }
  std::int64_t index(std::int64_t p, std::int64_t q) const {
    const std::int64_t row = is_row ? p : q, column = is_row ? q : p;
    return row_begin(row) + (column_order != nullptr ? column_order[column] : column);
  }

  const float* x;
  std::uint8_t* mask;
  const std::int32_t* row_order;
  const std::int32_t* column_order;
  bool is_row;
  std::int64_t P, Q, C;
};

struct Block {
  std::int64_t p0, p1, q0, q1;
};

// Which columns of a window survive, in ascending order.
struct Survivors {
  std::int64_t q[4];
  int count = 0;

  bool has(std::int64_t column) const { return std::find(q, q + count, column) != q + count; }
};

// The four best of `count` > 4 scores; of equal ones the first. Spoils the scores.
Survivors best_four(float* scores, std::int64_t q0, std::int64_t count) {
  constexpr float kTaken = -1.0f;  // no score is negative
  for (int k = 0; k < 4; ++k) *std::max_element(scores, scores + count) = kTaken;
  Survivors best;
  for (std::int64_t k = 0; k < count && best.count < 4; ++k)
    if (scores[k] == kTaken) best.q[best.count++] = q0 + k;
  return best;
}

Survivors all_of(const Block& block) {
  Survivors all;
  for (std::int64_t q = block.q0; q < block.q1 && all.count < 4; ++q) all.q[all.count++] = q;
  return all;
}

Survivors choose_columns(const Grid& grid, const Block& block, float* scores) {
  const std::int64_t count = block.q1 - block.q0;
  if (count <= 4) return all_of(block);
  std::fill_n(scores, count, 0.0f);
  for (std::int64_t p = block.p0; p < block.p1; ++p)
    for (std::int64_t k = 0; k < count; ++k)
      scores[k] += magnitude(grid.x[grid.index(p, block.q0 + k)]);
  return best_four(scores, block.q0, count);
}

void keep_two(const Grid& grid, std::int64_t p, const Survivors& survivors) {
  float first = 0.0f, second = 0.0f;  // a zero is never kept
  std::int64_t first_at = -1, second_at = -1;
  for (int k = 0; k < survivors.count; ++k) {
    const std::int64_t i = grid.index(p, survivors.q[k]);
    const float size = magnitude(grid.x[i]);
    if (size > first) {
      second = first, second_at = first_at;
      first = size, first_at = i;
    } else if (size > second) {
      second = size, second_at = i;
    }
  }
  if (first_at >= 0) grid.mask[first_at] = 1;
  if (second_at >= 0) grid.mask[second_at] = 1;
}

// Adds a window to the three sums of every row of a block.
void add_mass(const Grid& grid, const Block& block, const Survivors& survivors, double* sums) {
  for (std::int64_t q = block.q0; q < block.q1; ++q) {
    const bool survives = survivors.has(q);
    for (std::int64_t p = block.p0; p < block.p1; ++p) {
      const std::int64_t i = grid.index(p, q);
      const double size = magnitude(grid.x[i]);
      sums[3 * p] += size;
      if (survives) sums[3 * p + 1] += size;
      if (grid.mask[i] != 0) sums[3 * p + 2] += size;
    }
  }
}

void select_block(const Grid& grid, const Block& block, float* scores, double* sums) {
  const Survivors survivors = choose_columns(grid, block, scores);
  for (std::int64_t p = block.p0; p < block.p1; ++p) {
    for (std::int64_t q = block.q0; q < block.q1; ++q) grid.mask[grid.index(p, q)] = 0;
    keep_two(grid, p, survivors);
  }
  if (sums != nullptr) add_mass(grid, block, survivors, sums);
}

// Scratch of one task.
struct Scratch {
  std::vector<float> scores;
  std::vector<std::int32_t> live;   // -1 for a column that survives, else 0
  std::vector<const float*> lines;  // of a window
  std::vector<float> ordered;       // a chunk of a block's rows, and their masks, where columns
  std::vector<std::uint8_t> kept;   // have an order
};

// Columns at a time: 64 rows of them are 128 KB and stay in the second-level cache between the
// score and the choice.
constexpr std::int64_t kChunk = 512;

// The n columns from q on of a block's rows, side by side.
struct RowChunk {
  RowChunk(const Grid& all, const Block& rows, std::int64_t first, std::int64_t count,
           Scratch& scratch)
      : grid(all), p0(rows.p0), p1(rows.p1), q(first), n(count) {
    if (grid.column_order == nullptr) return;
    const auto size = static_cast<std::size_t>((p1 - p0) * kChunk);
    scratch.ordered.resize(std::max(scratch.ordered.size(), size));
    scratch.kept.resize(std::max(scratch.kept.size(), size));
    ordered = scratch.ordered.data();
    kept = scratch.kept.data();
    for (std::int64_t p = p0; p < p1; ++p) {
      const float* from = grid.x + grid.row_begin(p);
      for (std::int64_t i = 0; i < n; ++i)
        ordered[(p - p0) * kChunk + i] = from[grid.column_order[q + i]];
    }
  }

  const float* x(std::int64_t p) const {
    return ordered != nullptr ? ordered + (p - p0) * kChunk : grid.x + grid.index(p, q);
  }
  std::uint8_t* mask(std::int64_t p) const {
    return ordered != nullptr ? kept + (p - p0) * kChunk : grid.mask + grid.index(p, q);
  }
  // The masks to where they belong.
  void finish() const {
    for (std::int64_t p = p0; p < p1 && ordered != nullptr; ++p) {
      const std::uint8_t* from = mask(p);
      std::uint8_t* to = grid.mask + grid.row_begin(p);
      for (std::int64_t i = 0; i < n; ++i) to[grid.column_order[q + i]] = from[i];
    }
  }

  const Grid& grid;
  std::int64_t p0, p1, q, n;
  float* ordered = nullptr;
  std::uint8_t* kept = nullptr;
};

// Marks the survivors in live[0 … n), zeros before: the columns of a chunk, which begins a window.
void choose_live(const RowChunk& chunk, std::int64_t m, Scratch& scratch) {
  const std::int64_t n = chunk.n;
  std::fill_n(scratch.scores.begin(), n, 0.0f);
  for (std::int64_t p = chunk.p0; p < chunk.p1; ++p)
    add_magnitudes(chunk.x(p), scratch.scores.data(), n);
  for (std::int64_t k = 0; k < n; k += m) {
    const std::int64_t count = std::min(m, n - k);
    const Survivors best = count > 4 ? best_four(scratch.scores.data() + k, k, count)
                                     : all_of({.p0 = 0, .p1 = 0, .q0 = k, .q1 = n});
    for (int i = 0; i < best.count; ++i) scratch.live[static_cast<std::size_t>(best.q[i])] = -1;
  }
}

// Adds a chunk to the three sums of kRows rows from p on. Each sum is a chain of additions in order;
// several rows side by side hide their latency. A zero more changes no bit.
template <int kRows>
void add_row_mass(const RowChunk& chunk, std::int64_t p, const std::int32_t* live, double* sums) {
  const float* x[kRows];
  const std::uint8_t* mask[kRows];
  double all[kRows] = {}, survived[kRows] = {}, kept[kRows] = {};
  for (int r = 0; r < kRows; ++r) {
    x[r] = chunk.x(p + r);
    mask[r] = chunk.mask(p + r);
    const double* before = sums + 3 * (p + r);
    all[r] = before[0], survived[r] = before[1], kept[r] = before[2];
  }
  for (std::int64_t i = 0; i < chunk.n; ++i)
    for (int r = 0; r < kRows; ++r) {
      const std::int32_t bits = magnitude_bits(x[r][i]);
      all[r] += double{std::bit_cast<float>(bits)};
      survived[r] += double{std::bit_cast<float>(bits & live[i])};
      kept[r] += double{std::bit_cast<float>(bits & -std::int32_t{mask[r][i]})};
    }
  for (int r = 0; r < kRows; ++r) {
    double* after = sums + 3 * (p + r);
    after[0] = all[r], after[1] = survived[r], after[2] = kept[r];
  }
}

// A block of rows, m = 4, 8 or 16.
void select_rows(const Grid& grid, const Block& rows, std::int64_t m, Scratch& scratch,
                 double* sums) {
  scratch.scores.resize(kChunk);
  scratch.live.resize(kChunk);
  const std::int32_t* live = scratch.live.data();
  // The best two of one row are among its best four: who survives matters to the sums alone.
  const bool all_live = m <= 4 || (rows.p1 - rows.p0 == 1 && sums == nullptr);
  for (std::int64_t q = 0; q < grid.Q; q += kChunk) {
    const std::int64_t n = std::min(kChunk, grid.Q - q);
    const RowChunk chunk(grid, rows, q, n, scratch);
    std::fill_n(scratch.live.begin(), n, all_live ? -1 : 0);
    if (!all_live) choose_live(chunk, m, scratch);
    for (std::int64_t p = rows.p0; p < rows.p1; ++p)
      keep_two_in_windows(chunk.x(p), live, chunk.mask(p), n, m);
    std::int64_t p = rows.p0;
    for (; p + 4 <= rows.p1 && sums != nullptr; p += 4) add_row_mass<4>(chunk, p, live, sums);
    for (; p < rows.p1 && sums != nullptr; ++p) add_row_mass<1>(chunk, p, live, sums);
    chunk.finish();
  }
}

// The transposed pattern on columns in order: a row of the pattern is a column of x, a window is
// `count` > 4 lines of x.
Survivors choose_lines(const Grid& grid, const Block& block, Scratch& scratch) {
  const std::int64_t count = block.q1 - block.q0;
  scratch.lines.resize(static_cast<std::size_t>(count));
  scratch.scores.assign(static_cast<std::size_t>(count), 0.0f);
  for (std::int64_t k = 0; k < count; ++k)
    scratch.lines[static_cast<std::size_t>(k)] = grid.x + grid.index(block.p0, block.q0 + k);
  for (std::int64_t i = 0; i < block.p1 - block.p0; ++i)
    for (std::size_t k = 0; k < scratch.lines.size(); ++k)
      scratch.scores[k] += magnitude(scratch.lines[k][i]);
  return best_four(scratch.scores.data(), block.q0, count);
}

void select_lines(const Grid& grid, const Block& block, Scratch& scratch, double* sums) {
  const std::int64_t count = block.q1 - block.q0, width = block.p1 - block.p0;
  if (count < 4) return select_block(grid, block, nullptr, sums);
  const Survivors survivors = count == 4 ? all_of(block) : choose_lines(grid, block, scratch);
  for (std::int64_t q = block.q0; q < block.q1 && count > 4; ++q)
    std::fill_n(grid.mask + grid.index(block.p0, q), width, std::uint8_t{0});
  FourRows rows;
  for (int k = 0; k < 4; ++k) {
    rows.x[k] = grid.x + grid.index(block.p0, survivors.q[k]);
    rows.mask[k] = grid.mask + grid.index(block.p0, survivors.q[k]);
  }
  keep_two_of_rows(rows, width);
  if (sums != nullptr) add_mass(grid, block, survivors, sums);
}

// Rows [begin, end) of the pattern, which begin a block.
void select_range(const Grid& grid, const VenomSelectArgs& args, std::int64_t begin,
                  std::int64_t end, double* sums) {
  const bool in_order = grid.column_order == nullptr;
  const bool by_rows = grid.is_row && (args.m == 4 || args.m == 8 || args.m == 16);
  const bool by_lines = !grid.is_row && in_order;
  // Where all columns survive, blocks do not matter.
  const std::int64_t v = (by_lines || by_rows) && args.m <= 4 ? end - begin : args.v;
  Scratch scratch;
  if (!by_rows) scratch.scores.resize(static_cast<std::size_t>(std::min(args.m, grid.Q)));
  for (std::int64_t p = begin; p < end; p += v) {
    Block block{.p0 = p, .p1 = std::min(end, p + v), .q0 = 0, .q1 = 0};
    if (by_rows) {
      select_rows(grid, block, args.m, scratch, sums);
      continue;
    }
    for (; block.q0 < grid.Q; block.q0 += args.m) {
      block.q1 = std::min(grid.Q, block.q0 + args.m);
      if (by_lines) {
        select_lines(grid, block, scratch, sums);
      } else {
        select_block(grid, block, scratch.scores.data(), sums);
      }
    }
  }
}

// Blocks of V rows per task. Columns of x are taken 256 at a time at least: whole cache lines.
std::int64_t blocks_per_task(const Grid& grid, std::int64_t v) {
  const std::int64_t blocks = rows_per_task(kElementsPerTask, v * grid.Q);
  return grid.is_row ? blocks : std::max(blocks, (256 + v - 1) / v);
}

}  // namespace

void venom_select(const VenomSelectArgs& args, const Device&, Queue& queue) {
  Grid grid(args);
  const std::int64_t v = std::min(args.v, std::max<std::int64_t>(1, grid.P));
  // Columns that share no block are chosen in any order; only their sums are added up in theirs.
  const std::int32_t* sum_order = nullptr;
  if (!grid.is_row && v == 1) std::swap(sum_order, grid.column_order);
  std::vector<double> sums(args.mass ? static_cast<std::size_t>(3 * grid.P) : 0);
  double* row_sums = args.mass ? sums.data() : nullptr;
  run_pieces(queue, (grid.P + v - 1) / v, blocks_per_task(grid, v),
             [&](std::int64_t begin, std::int64_t end) {
               select_range(grid, args, begin * v, std::min(grid.P, end * v), row_sums);
             });
  if (!args.mass) return;
  double* mass = args.mass.as<double>();
  std::fill_n(mass, 3, 0.0);
  for (std::int64_t p = 0; p < grid.P; ++p) {
    const std::int64_t row = sum_order != nullptr ? sum_order[p] : p;
    for (int k = 0; k < 3; ++k) mass[k] += sums[static_cast<std::size_t>(3 * row + k)];
  }
}

}  // namespace twill::cpu
