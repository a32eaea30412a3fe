// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace twill::cpu {

// sum[j] (+)= Σ_i x[i, j] for j in [begin, end), rows in ascending order. x is (rows, cols).
struct ColumnStrip {
  const float* x;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t begin;
  std::int64_t end;
  float* sum;
  bool accumulate;
};
void sum_columns(const ColumnStrip& strip);

// Σ x[i]² in f64.
double sum_of_squares(const float* x, std::int64_t n);

}  // namespace twill::cpu
