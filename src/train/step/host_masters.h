// SPDX-License-Identifier: Apache-2.0
// Masters and moments on the host, for the moments in which files are read and written. While one of
// these lives, the views of the model's masters (and of the optimizer's moments) point to host
// memory; afterwards they point where they did. Where memory is shared nothing moves.
#pragma once

#include <deque>

#include "nn/builder.h"
#include "tensor/tensor.h"
#include "train/step/optimizer.h"

namespace twill {

class HostMasters {
 public:
  explicit HostMasters(Builder& builder, Optimizer* optimizer = nullptr);
  ~HostMasters();
  HostMasters(const HostMasters&) = delete;
  HostMasters& operator=(const HostMasters&) = delete;

  // Copies what the host has set to the device, operands included.
  void upload();

 private:
  struct Swapped {
    View* slot;
    View device;
    Tensor host;
  };
  void swap_out(View& slot);

  Builder& builder_;
  std::deque<Swapped> swapped_;
};

}  // namespace twill
