// SPDX-License-Identifier: Apache-2.0
// Which hardware sparsity patterns the zeros of a matrix satisfy. Exact: a pattern holds only when
// every group of the matrix keeps it.
//
//   1:4, 2:4   at most one, two non-zeros in each group of four neighbours along an axis
//   V:2:M      in each strip of V rows and each group of M columns only four columns have
//              non-zeros, and each row has at most two there
//
// Groups begin at multiples of their size; an axis that is not a multiple of it has no such
// pattern. -0 is a zero; NaN and infinities are not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/hf_tensors.h"

namespace twill {

struct StripPattern {
  std::int64_t strip;  // V
  std::int64_t group;  // M
  friend bool operator==(const StripPattern&, const StripPattern&) = default;
};

// Of groups along one axis.
struct AxisPatterns {
  bool one_of_four = false;
  bool two_of_four = false;
  std::vector<StripPattern> strips;  // the largest V of 16, 32, 64, 128 for each M of 8, 16
};

struct MatrixPatterns {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nonzeros = 0;
  std::int64_t non_finite = 0;
  AxisPatterns along_rows;     // groups of neighbours in one row: a product that sums over columns
  AxisPatterns along_columns;  // groups of neighbours in one column

  double density() const;
  // 2:4 in both directions: the mask serves the forward and the backward product.
  bool transposable() const { return along_rows.two_of_four && along_columns.two_of_four; }
};

MatrixPatterns find_patterns(const float* values, std::int64_t rows, std::int64_t columns);

// In words: "2:4 along in and out (transposable)", "unstructured", "dense". The axes are called in
// and out where the input axis is known, otherwise rows and columns.
std::string describe(const MatrixPatterns& patterns, InputAxis input);

}  // namespace twill
