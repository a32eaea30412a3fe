// SPDX-License-Identifier: Apache-2.0
// V:2:M selection on the cpu. A task is a few blocks of V rows of the pattern with all their
// windows, so that the sums of a row of the pattern stay with one thread and in order.
//
// This file is the plain way, for any order and any M. The score of a column costs an addition per
// element, the choice of four columns is shared by V rows, and a row looks at four elements of M.
#include "ops/venom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kElementsPerTask = 32768;

float magnitude(float x) {
  return std::isnan(x) ? std::numeric_limits<float>::infinity() : std::abs(x);
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

  std::int64_t index(std::int64_t p, std::int64_t q) const {
    const std::int64_t row = is_row ? p : q, column = is_row ? q : p;
    return (row_order != nullptr ? row_order[row] : row) * C +
           (column_order != nullptr ? column_order[column] : column);
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

}  // namespace

void venom_select(const VenomSelectArgs& args, const Device&, Queue& queue) {
  const Grid grid(args);
  std::vector<double> sums(args.mass ? static_cast<std::size_t>(3 * grid.P) : 0);
  double* row_sums = args.mass ? sums.data() : nullptr;
  const std::int64_t num_blocks = (grid.P + args.v - 1) / args.v;
  run_pieces(
      queue, num_blocks, rows_per_task(kElementsPerTask, args.v * grid.Q),
      [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> scores(static_cast<std::size_t>(std::min(args.m, grid.Q)));
        for (std::int64_t p = begin * args.v; p < std::min(grid.P, end * args.v); p += args.v)
          for (std::int64_t q = 0; q < grid.Q; q += args.m)
            select_block(grid, {p, std::min(grid.P, p + args.v), q, std::min(grid.Q, q + args.m)},
                         scores.data(), row_sums);
      });
  if (!args.mass) return;
  double* mass = args.mass.as<double>();
  std::fill_n(mass, 3, 0.0);
  for (std::int64_t p = 0; p < grid.P; ++p)
    for (int k = 0; k < 3; ++k) mass[k] += row_sums[3 * p + k];
}

}  // namespace twill::cpu
