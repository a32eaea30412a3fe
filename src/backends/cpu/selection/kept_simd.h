// SPDX-License-Identifier: Apache-2.0
// The inner loops of the ops of kept entries. kept_gradient: panels of one block of tokens, and sums
// of products at kept positions.
#pragma once

#include <cstdint>

namespace twill::cpu {

// Number of i with mask[i] != 0, and those i in ascending order.
std::int64_t count_kept(const std::uint8_t* mask, std::int64_t n);
void list_kept(const std::uint8_t* mask, std::int64_t n, std::int32_t* column);

// Tokens that are summed at one time: 4 vectors of AVX-512. A column of a panel is 256 B; with 128
// tokens half as many columns stay in the L1 cache, and a row of dy is loaded as often as it is used.
constexpr std::int64_t kKeptTokens = 64;
// Columns of x whose panel stays in an L1 cache of 32 KB beside partial sums and rows of dy.
constexpr std::int64_t kKeptColumns = 96;
// Panels are written in whole tiles of this many columns.
constexpr std::int64_t kKeptTile = 16;
// Entries are summed in groups of four, which begin anew with each run; sums are written in whole
// vectors of at most 16.
constexpr std::int64_t kKeptGroup = 4;
constexpr std::int64_t kKeptSums = 16;

// Kept entries of one row, among the columns of one panel.
struct KeptRun {
  std::int32_t row;          // of the panel of dy
  std::int32_t count;        // from 1 to kKeptColumns
  std::int32_t value_begin;  // where their values begin
};

// panel (cols rounded up to kKeptTile, 64) = from (tokens, cols)ᵀ, rows `stride` apart; zeros behind
// the last token and the last column. At most 64 tokens. The panel is 64-byte aligned.
void transpose_tokens(const float* from, std::int64_t stride, std::int64_t tokens,
                      std::int64_t cols, float* panel);

// sums[i] [+]= Σ over 64 tokens of dy[row] x[offset[i]], where i counts through the runs in order and
// skips to the next multiple of kKeptGroup at the end of each. What is skipped, up to a multiple of
// kKeptSums at the end of all runs, is overwritten. Panels and sums are 64-byte aligned.
struct KeptSumsArgs {
  const float* dy;  // panels
  const float* x;
  const float* next_x;  // what the next call takes; fetched ahead
  const KeptRun* runs;
  std::int64_t num_runs;
  const std::uint16_t* offset;  // of the column in the panel of x, in floats
  float* sums;
  bool add;
};
void add_kept_products(const KeptSumsArgs& args);

}  // namespace twill::cpu
