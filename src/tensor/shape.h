// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"

namespace twill {

// Up to four extents, outermost first. Rank 0 is a scalar.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> extents) {
    for (const std::int64_t extent : extents) push_back(extent);
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int axis) const { return extents_[axis_index(axis)]; }
  constexpr void push_back(std::int64_t extent) {
    TWILL_CHECK(rank_ < kMaxRank, "a shape has at most four extents");
    TWILL_CHECK(extent >= 0, "an extent is not negative");
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }

  constexpr std::int64_t num_elements() const {
    std::int64_t count = 1;
    for (int axis = 0; axis < rank_; ++axis) count *= extents_[static_cast<std::size_t>(axis)];
    return count;
  }
  // The extents folded into (rows, cols) with the last axis as columns.
  constexpr std::int64_t cols() const { return rank_ == 0 ? 1 : (*this)[rank_ - 1]; }
  constexpr std::int64_t rows() const {
    std::int64_t count = 1;
    for (int axis = 0; axis + 1 < rank_; ++axis) count *= extents_[static_cast<std::size_t>(axis)];
    return count;
  }

  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis)
      if (a[axis] != b[axis]) return false;
    return true;
  }

 private:
  constexpr std::size_t axis_index(int axis) const {
    TWILL_CHECK(axis >= 0 && axis < rank_, "axis out of range");
    return static_cast<std::size_t>(axis);
  }

  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

// "(2, 3, 4)".
std::string to_string(const Shape& shape);

}  // namespace twill
