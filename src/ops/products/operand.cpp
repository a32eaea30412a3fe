// SPDX-License-Identifier: Apache-2.0
#include "ops/products/operand.h"

#include <algorithm>

#include "base/check.h"
#include "base/fp8.h"

namespace twill {
namespace {

double number_at(const ConstView& data, std::int64_t i) {
  switch (data.dtype()) {
    case DType::kF32:
      return double{data.as<float>()[i]};
    case DType::kF64:
      return data.as<double>()[i];
    case DType::kBf16:
      return double{to_float(data.as<Bf16>()[i])};
    case DType::kE4m3:
      return double{to_float(data.as<Fp8E4m3>()[i])};
    case DType::kE5m2:
      return double{to_float(data.as<Fp8E5m2>()[i])};
    case DType::kI32:
    case DType::kU8:
      break;
  }
  TWILL_CHECK(false, "an operand's numbers are floats");
  return 0.0;
}

void decode_rows(const Operand& operand, const Decoded& to) {
  const std::int64_t size = operand.rows * operand.cols;
  for (std::int64_t i = 0; i < size; ++i) to.values[i] = number_at(operand.data, i);
  std::fill_n(to.kept, size, std::uint8_t{1});
}

void decode_columns(const Operand& operand, const Decoded& to) {
  for (std::int64_t row = 0; row < operand.rows; ++row)
    for (std::int64_t col = 0; col < operand.cols; ++col)
      to.values[row * operand.cols + col] = number_at(operand.data, col * operand.rows + row);
  std::fill_n(to.kept, operand.rows * operand.cols, std::uint8_t{1});
}

constexpr LayoutKind kRowMajor{.name = "row-major", .decode = decode_rows};
constexpr LayoutKind kColumnMajor{.name = "column-major", .decode = decode_columns};
constexpr LayoutKind kPacked{.name = "packed", .decode = nullptr};

}  // namespace

Layout row_major() { return &kRowMajor; }
Layout column_major() { return &kColumnMajor; }
Layout packed() { return &kPacked; }

Operand dense(ConstView matrix) { return dense(matrix, {}); }

Operand dense(ConstView matrix, const Scale& scale) {
  return {.data = matrix,
          .type = matrix.dtype(),
          .layout = row_major(),
          .rows = matrix.rows(),
          .cols = matrix.cols(),
          .scale = scale};
}

Operand without_zeros(const PackedMatrix& matrix) {
  return {.data = matrix.storage,
          .type = matrix.shape.type,
          .layout = packed(),
          .rows = matrix.shape.rows,
          .cols = matrix.shape.cols,
          .packed = matrix.shape,
          .kept = matrix.kept};
}

}  // namespace twill
