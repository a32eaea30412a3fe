// SPDX-License-Identifier: Apache-2.0
// Operands of ops under test: values in, a view of a chosen type and misalignment, values out.
#pragma once

#include <cstring>
#include <new>

#include "support/expected.h"
#include "tensor/view.h"

namespace twill {

// Starts `offset` elements behind a 64-byte boundary and ends with its last element, so that the
// address sanitizer sees every access behind it.
class Buffer {
 public:
  Buffer(const Values& values, DType dtype, int offset = 0)
      : dtype_(dtype),
        count_(static_cast<std::int64_t>(values.size())),
        offset_bytes_(offset * size_of(dtype)) {
    const std::int64_t bytes = offset_bytes_ + count_ * size_of(dtype);
    memory_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kLine));
    for (std::int64_t i = 0; i < count_; ++i) store(i, values[static_cast<std::size_t>(i)]);
  }
  ~Buffer() { ::operator delete(memory_, kLine); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  View view(Shape shape) const {
    TWILL_CHECK(shape.num_elements() == count_, "a buffer is viewed whole");
    return {data(), dtype_, shape};
  }

  bool empty() const { return count_ == 0; }

  Values values() const {
    Values values;
    for (std::int64_t i = 0; i < count_; ++i) values.push_back(load(i));
    return values;
  }

 private:
  static constexpr std::align_val_t kLine{64};

  std::byte* data() const { return memory_ + offset_bytes_; }

  template <class T>
  T get(std::int64_t i) const {
    T value;
    std::memcpy(&value, data() + i * size_of(dtype_), sizeof value);
    return value;
  }
  template <class T>
  void set(std::int64_t i, T value) {
    std::memcpy(data() + i * size_of(dtype_), &value, sizeof value);
  }

  void store(std::int64_t i, double value) {
    if (dtype_ == DType::kF32) set(i, static_cast<float>(value));
    if (dtype_ == DType::kF64) set(i, value);
    if (dtype_ == DType::kI32) set(i, static_cast<std::int32_t>(value));
    if (dtype_ == DType::kU8) set(i, static_cast<std::uint8_t>(value));
  }
  double load(std::int64_t i) const {
    if (dtype_ == DType::kF32) return get<float>(i);
    if (dtype_ == DType::kI32) return get<std::int32_t>(i);
    if (dtype_ == DType::kU8) return get<std::uint8_t>(i);
    return get<double>(i);
  }

  DType dtype_;
  std::int64_t count_;
  std::int64_t offset_bytes_;
  std::byte* memory_;
};

// An absent optional operand is written as no values at all.
inline View optional_view(const Buffer& buffer, Shape shape) {
  return buffer.empty() ? View() : buffer.view(shape);
}

// What an output holds before the op: a value that no test expects.
inline Values rubbish(std::int64_t count) { return Values(static_cast<std::size_t>(count), 1e30); }

}  // namespace twill
