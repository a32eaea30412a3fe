// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <utility>

namespace twill {

Tensor::Tensor(DType dtype, Shape shape, const Memory& memory)
    : view_(memory.allocate(shape.num_elements() * size_of(dtype)), dtype, shape),
      memory_(&memory) {}

Tensor::~Tensor() {
  if (memory_ != nullptr) memory_->release(view_.bytes(), view_.num_bytes());
}

Tensor::Tensor(Tensor&& other) noexcept
    : view_(std::exchange(other.view_, {})), memory_(std::exchange(other.memory_, nullptr)) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(view_, other.view_);
  std::swap(memory_, other.memory_);
  return *this;
}

}  // namespace twill
