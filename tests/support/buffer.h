// SPDX-License-Identifier: Apache-2.0
// Operands of ops under test: values in, a view of a chosen type and misalignment, values out.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/bf16.h"
#include "ops/transfer.h"
#include "support/expected.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

namespace twill {

// Starts `offset` elements behind a 64-byte boundary and ends with its last element, so that the
// address sanitizer sees every access behind it. With a `device` the view is of its memory, and
// values() are those of the device.
class Buffer {
 public:
  Buffer(const Values& values, DType dtype, int offset = 0,
         std::shared_ptr<const Context> device = nullptr)
      : dtype_(dtype),
        count_(static_cast<std::int64_t>(values.size())),
        offset_bytes_(offset * size_of(dtype)) {
    const std::int64_t bytes = offset_bytes_ + count_ * size_of(dtype);
    memory_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kLine));
    for (std::int64_t i = 0; i < count_; ++i) store(i, values[static_cast<std::size_t>(i)]);
    if (device == nullptr || shares_memory(*device)) return;
    device_ = std::move(device);
    on_device_ = Tensor(DType::kU8, {bytes + kSlack}, device_->memory());
    copy_in(*device_, on_device_.view().slice(offset_bytes_, bytes - offset_bytes_), data());
    wait(*device_);
  }
  ~Buffer() { ::operator delete(memory_, kLine); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  View view(Shape shape) const {
    TWILL_CHECK(shape.num_elements() == count_, "a buffer is viewed whole");
    std::byte* const begin =
        device_ != nullptr ? on_device_.view().bytes() + offset_bytes_ : data();
    return {begin, dtype_, shape};
  }

  DType dtype() const { return dtype_; }
  bool empty() const { return count_ == 0; }

  Values values() const {
    if (device_ != nullptr)
      copy_out(*device_, data(), on_device_.view().slice(offset_bytes_, count_ * size_of(dtype_)));
    Values values;
    for (std::int64_t i = 0; i < count_; ++i) values.push_back(load(i));
    return values;
  }

 private:
  static constexpr std::align_val_t kLine{64};
  static constexpr std::int64_t kSlack = 1;  // an empty buffer has an address too

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
    if (dtype_ == DType::kBf16) set(i, to_bf16(static_cast<float>(value)));
    if (dtype_ == DType::kI32) set(i, static_cast<std::int32_t>(value));
    if (dtype_ == DType::kU8) set(i, static_cast<std::uint8_t>(value));
  }
  double load(std::int64_t i) const {
    if (dtype_ == DType::kF32) return get<float>(i);
    if (dtype_ == DType::kBf16) return to_float(get<Bf16>(i));
    if (dtype_ == DType::kI32) return get<std::int32_t>(i);
    if (dtype_ == DType::kU8) return get<std::uint8_t>(i);
    return get<double>(i);
  }

  DType dtype_;
  std::int64_t count_;
  std::int64_t offset_bytes_;
  std::byte* memory_;
  std::shared_ptr<const Context> device_;
  mutable Tensor on_device_;
};

// An absent optional operand is written as no values at all.
inline View optional_view(const Buffer& buffer, Shape shape) {
  return buffer.empty() ? View() : buffer.view(shape);
}

// What an output holds before the op: a value that no test expects.
inline Values rubbish(std::int64_t count) { return Values(static_cast<std::size_t>(count), 1e30); }

}  // namespace twill
