// SPDX-License-Identifier: Apache-2.0
// The products with packed matrices in SIMD. What faces P is brought into a panel (K, width): row k
// holds what faces column k of P, for `width` tokens (or columns of c). Sums lie as (rows, width).
#pragma once

#include <cstdint>

#include "backends/cpu/packing/packed_format.h"

namespace twill::cpu {

// Floats in a row of a panel and of sums, for the CPU that runs; at most kMaxPanelWidth.
std::int64_t panel_width();
constexpr std::int64_t kMaxPanelWidth = 64;

// panel = the transposed of x (tokens, K), tokens <= width; zeros in the other lanes.
void panel_of_tokens(const float* x, std::int64_t stride, std::int64_t tokens, std::int64_t K,
                     float* panel);
// panel = b (K, cols), cols <= width; zeros in the other lanes.
void panel_of_columns(const float* b, std::int64_t stride, std::int64_t K, std::int64_t cols,
                      float* panel);

// sums[row, lane] = (initial[row], or what sums held) + Σ P[row, k] panel[k, lane] over a group.
struct GroupProduct {
  PackedGroup group;
  const float* panel;    // of the chunk's first column
  const float* initial;  // (4 strips), nullptr: sums are added to
  float* sums;           // (4 strips, width)
  std::int64_t used;     // lanes that matter; others may be left as they are
};
void multiply_group(const GroupProduct& product);

// c (tokens, rows) = the transposed of sums; tokens <= width.
void tokens_of_sums(const float* sums, std::int64_t rows, std::int64_t tokens, float* c,
                    std::int64_t stride);
// c (rows, cols) = sums [+ bias] [+ addend]; cols <= width. The addend has c's stride and may be c.
struct ColumnsOfSums {
  const float* sums;
  std::int64_t rows;
  std::int64_t cols;
  const float* bias;    // (cols), nullptr: none
  const float* addend;  // nullptr: none
  float* c;
  std::int64_t stride;
};
void columns_of_sums(const ColumnsOfSums& args);

// to (cols, rows) = the transposed of from (rows, cols).
void transpose_floats(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                      float* to, std::int64_t to_stride);

}  // namespace twill::cpu
