// SPDX-License-Identifier: Apache-2.0
// A view borrows contiguous row-major memory: pointer, dtype, shape. It is trivially copyable and
// must not outlive the owner of the memory (a Tensor or an Arena).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bf16.h"
#include "base/check.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace twill {

struct Fp8E4m3;  // base/fp8.h
struct Fp8E5m2;

template <class T>
constexpr DType dtype_of() {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, float>) return DType::kF32;
  if constexpr (std::is_same_v<Plain, double>) return DType::kF64;
  if constexpr (std::is_same_v<Plain, std::int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<Plain, Bf16>) return DType::kBf16;
  if constexpr (std::is_same_v<Plain, std::uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<Plain, Fp8E4m3>) return DType::kE4m3;
  if constexpr (std::is_same_v<Plain, Fp8E5m2>) return DType::kE5m2;
}

// Byte is std::byte (View) or const std::byte (ConstView).
template <class Byte>
class BasicView {
 public:
  constexpr BasicView() = default;
  constexpr BasicView(Byte* data, DType dtype, Shape shape)
      : data_(data), dtype_(dtype), shape_(shape) {}

  // A View is also a ConstView.
  template <class Other>
  requires(std::is_const_v<Byte> && !std::is_const_v<Other>) constexpr BasicView(
      const BasicView<Other>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.bytes()), dtype_(other.dtype()), shape_(other.shape()) {}

  // An absent operand: optional arguments of ops are empty views.
  constexpr explicit operator bool() const { return data_ != nullptr; }

  constexpr Byte* bytes() const { return data_; }
  constexpr DType dtype() const { return dtype_; }
  constexpr const Shape& shape() const { return shape_; }
  constexpr std::int64_t num_elements() const { return shape_.num_elements(); }
  constexpr std::int64_t num_bytes() const { return num_elements() * size_of(dtype_); }
  constexpr std::int64_t rows() const { return shape_.rows(); }
  constexpr std::int64_t cols() const { return shape_.cols(); }

  // Typed access: as<float>(), as<std::int32_t>(). The type must match.
  template <class T>
  auto* as() const {
    TWILL_DCHECK(dtype_of<T>() == dtype_, "view read as another type");
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    return reinterpret_cast<Element*>(data_);
  }

  // The same memory under another shape of the same size.
  BasicView reshaped(Shape shape) const {
    TWILL_CHECK(shape.num_elements() == num_elements(), "reshape keeps the number of elements");
    return {data_, dtype_, shape};
  }
  // Rows [begin, begin + count) of the view folded to two dimensions.
  BasicView row_range(std::int64_t begin, std::int64_t count) const {
    TWILL_CHECK(begin >= 0 && count >= 0 && begin + count <= rows(), "row range out of bounds");
    return {data_ + begin * cols() * size_of(dtype_), dtype_, Shape{count, cols()}};
  }
  // Elements [begin, begin + count) of the view folded to one dimension.
  BasicView slice(std::int64_t begin, std::int64_t count) const {
    TWILL_CHECK(begin >= 0 && count >= 0 && begin + count <= num_elements(), "slice out of bounds");
    return {data_ + begin * size_of(dtype_), dtype_, Shape{count}};
  }

 private:
  Byte* data_ = nullptr;
  DType dtype_ = DType::kF32;
  Shape shape_;
};

using View = BasicView<std::byte>;
using ConstView = BasicView<const std::byte>;

template <class T>
View view_of(T* data, Shape shape) {
  return {reinterpret_cast<std::byte*>(data), dtype_of<T>(), shape};
}
template <class T>
ConstView view_of(const T* data, Shape shape) {
  return {reinterpret_cast<const std::byte*>(data), dtype_of<T>(), shape};
}

}  // namespace twill
