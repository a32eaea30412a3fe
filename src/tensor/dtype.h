// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace twill {

// kF64 exists for the reference backend: in it a whole model can run in double and be compared with
// finite differences. Training uses kF32 (cpu) and kBf16 + kF32 (cuda). kE4m3 and kE5m2 (base/fp8.h) are
// types of operands of products and of copies made for them (ops/products/product.h). Numbers of the
// enumerators stand in files of choices: new ones come last.
enum class DType : std::uint8_t { kF32, kF64, kBf16, kI32, kU8, kE4m3, kE5m2 };

constexpr bool is_fp8(DType dtype) { return dtype == DType::kE4m3 || dtype == DType::kE5m2; }

constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBf16:
      return 2;
    case DType::kU8:
    case DType::kE4m3:
    case DType::kE5m2:
      return 1;
  }
  return 0;
}

// What sums, statistics and gradients of parameters are kept in beside operands of this type.
constexpr DType wide_type(DType storage) {
  return storage == DType::kF64 ? DType::kF64 : DType::kF32;
}

constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "f64";
    case DType::kF32:
      return "f32";
    case DType::kI32:
      return "i32";
    case DType::kBf16:
      return "bf16";
    case DType::kU8:
      return "u8";
    case DType::kE4m3:
      return "e4m3";
    case DType::kE5m2:
      return "e5m2";
  }
  return "?";
}

}  // namespace twill
