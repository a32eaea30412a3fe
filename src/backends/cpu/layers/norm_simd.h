// SPDX-License-Identifier: Apache-2.0
// Rows and columns of the two normalisations. Pointers to optional operands may be nullptr.
#pragma once

#include <cstdint>

namespace twill::cpu {

// One struct for both norms: RMS normalisation has no mean and no bias.
struct NormForward {
  const float* x;  // (rows, cols)
  const float* weight;
  const float* bias;
  float* y;
  float* mean;
  float* rstd;
  std::int64_t cols;
  double eps;
};
void layer_norm_rows(const NormForward& norm, std::int64_t begin, std::int64_t end);
void rms_norm_rows(const NormForward& norm, std::int64_t begin, std::int64_t end);

struct NormBackward {
  const float* x;  // (rows, cols)
  const float* weight;
  const float* mean;
  const float* rstd;
  const float* dy;
  float* dx;
  float* dweight;
  float* dbias;
  std::int64_t rows;
  std::int64_t cols;
  bool accumulate_dx;
};
// dx of rows [begin, end).
void layer_norm_dx_rows(const NormBackward& norm, std::int64_t begin, std::int64_t end);
void rms_norm_dx_rows(const NormBackward& norm, std::int64_t begin, std::int64_t end);
// Adds to dweight and dbias of columns [begin, end). mean = nullptr stands for zero.
void norm_dweight_columns(const NormBackward& norm, std::int64_t begin, std::int64_t end);

}  // namespace twill::cpu
