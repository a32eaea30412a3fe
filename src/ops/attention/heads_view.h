// SPDX-License-Identifier: Apache-2.0
// Heads of tokens in a buffer that may hold more: (batch, time, heads, D), where the D numbers of a
// head and the heads of a token are neighbours, and tokens lie `row_stride` elements apart. So the
// queries, keys and values of a packed qkv buffer are three views of the same stride, and buffers of
// their own are three views of strides of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "tensor/view.h"

namespace twill {

// Byte is std::byte (HeadsView) or const std::byte (ConstHeadsView).
template <class Byte>
class BasicHeadsView {
 public:
  constexpr BasicHeadsView() = default;
  // All heads of a contiguous (batch, time, heads, D) view, or of one that can be read so.
  template <class Other>
  requires(std::is_convertible_v<Other*, Byte*>)
      BasicHeadsView(const BasicView<Other>& view)  // NOLINT(google-explicit-constructor)
      : BasicHeadsView(view.bytes(), view.dtype(), view.shape(),
                       view.shape().rank() == 4 ? view.shape()[2] * view.shape()[3] : 0) {}
  template <class Other>
  requires(!std::is_same_v<Other, Byte> && std::is_convertible_v<Other*, Byte*>)
      BasicHeadsView(const BasicHeadsView<Other>& other)  // NOLINT(google-explicit-constructor)
      : BasicHeadsView(other.bytes(), other.dtype(), other.shape(), other.row_stride()) {}
  BasicHeadsView(Byte* data, DType dtype, Shape shape, std::int64_t row_stride)
      : data_(data), dtype_(dtype), shape_(shape), row_stride_(row_stride) {}

  explicit operator bool() const { return data_ != nullptr; }
  Byte* bytes() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t row_stride() const { return row_stride_; }
  std::int64_t num_elements() const { return shape_.num_elements(); }
  std::int64_t num_bytes() const { return num_elements() * size_of(dtype_); }

  // Element 0 of head h of token t of sequence b.
  std::int64_t at(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return (b * shape_[1] + t) * row_stride_ + h * shape_[3];
  }
  template <class T>
  auto* as() const {
    return BasicView<Byte>(data_, dtype_, shape_).template as<T>();
  }

  // Heads [begin, begin + count) of every token. Without memory only the shape follows.
  BasicHeadsView heads(std::int64_t begin, std::int64_t count) const {
    TWILL_CHECK(begin >= 0 && count >= 0 && begin + count <= shape_[2], "heads out of bounds");
    Byte* const data = data_ == nullptr ? nullptr : data_ + begin * shape_[3] * size_of(dtype_);
    return {data, dtype_, {shape_[0], shape_[1], count, shape_[3]}, row_stride_};
  }

 private:
  Byte* data_ = nullptr;
  DType dtype_ = DType::kF32;
  Shape shape_;
  std::int64_t row_stride_ = 0;
};

using HeadsView = BasicHeadsView<std::byte>;
using ConstHeadsView = BasicHeadsView<const std::byte>;

// The three parts of a packed (batch, time, H + 2 K, D) buffer.
template <class Byte>
struct BasicQkvHeads {
  BasicHeadsView<Byte> q, k, v;
};

template <class Byte>
BasicQkvHeads<Byte> split_qkv(const BasicView<Byte>& qkv, std::int64_t num_heads) {
  const BasicHeadsView<Byte> all(qkv);
  const std::int64_t kv_heads = (qkv.shape()[2] - num_heads) / 2;
  return {all.heads(0, num_heads), all.heads(num_heads, kv_heads),
          all.heads(num_heads + kv_heads, kv_heads)};
}

}  // namespace twill
