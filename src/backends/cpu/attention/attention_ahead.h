// SPDX-License-Identifier: Apache-2.0
// Rows that the next block will read, or this one will write, asked for while this one computes.
// The rows of a head lie (H + 2 K) D apart: no processor guesses them, and a pattern that shows few
// keys leaves less work per row than the row takes to come (a third of all at T = 256, D = 64).
#pragma once

#include <cstdint>

namespace twill::cpu {

class RowsAhead {
 public:
  explicit RowsAhead(std::int64_t row_size) : row_size_(row_size) {}

  void add(const float* rows, std::int64_t stride, std::int64_t num_rows) {
    if (num_rows > 0) ranges_[count_++] = {rows, stride, num_rows, 0};
  }

  // Asks for a few rows: as many as come while a tile is computed.
  void step() {
    for (int row = 0; row < kRowsPerStep; ++row) {
      if (next_ == count_) return;
      Range& range = ranges_[next_];
      const float* at = range.rows + range.done * range.stride;
      // Into the second-level cache: the first one holds the operands of the tiles.
      for (std::int64_t i = 0; i < row_size_; i += kLine) __builtin_prefetch(at + i, 0, 2);
      if (++range.done == range.num_rows) ++next_;
    }
  }

 private:
  static constexpr int kRowsPerStep = 6;
  static constexpr std::int64_t kLine = 16;  // floats in a line of the cache

  struct Range {
    const float* rows;
    std::int64_t stride;
    std::int64_t num_rows;
    std::int64_t done;
  };

  std::int64_t row_size_;
  Range ranges_[8];  // a block of the backward pass: dq, q, dout, out, k, v, dk, dv
  int count_ = 0;
  int next_ = 0;
};

}  // namespace twill::cpu
