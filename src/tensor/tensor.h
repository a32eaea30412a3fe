// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/memory.h"
#include "tensor/view.h"

namespace twill {

// Owns zero-initialised memory. Move only.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape, const Memory& memory = host_memory());
  ~Tensor();
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;

  View view() { return view_; }
  ConstView view() const { return view_; }

 private:
  View view_;
  const Memory* memory_ = nullptr;
};

}  // namespace twill
