// SPDX-License-Identifier: Apache-2.0
// The reference's packed form: all values as f64, then one byte each.
#pragma once

#include <cstring>

#include "ops/packing/packed_matrix.h"

namespace twill::reference {

class PackedStorage {
 public:
  PackedStorage(const PackedShape& shape, ConstView storage)
      : cols_(shape.cols),
        values_(const_cast<std::byte*>(storage.bytes())),
        kept_(values_ + shape.rows * shape.cols * kSize) {}

  void set(std::int64_t row, std::int64_t col, double value, bool keep) const {
    const std::int64_t at = row * cols_ + col;
    std::memcpy(values_ + at * kSize, &value, sizeof value);
    kept_[at] = std::byte{keep};
  }
  bool is_kept(std::int64_t row, std::int64_t col) const {
    return kept_[row * cols_ + col] != std::byte{0};
  }
  double value(std::int64_t row, std::int64_t col) const {
    double value;
    std::memcpy(&value, values_ + (row * cols_ + col) * kSize, sizeof value);
    return value;
  }

 private:
  static constexpr std::int64_t kSize = sizeof(double);
  std::int64_t cols_;
  std::byte* values_;
  std::byte* kept_;
};

}  // namespace twill::reference
