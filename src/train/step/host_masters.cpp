// SPDX-License-Identifier: Apache-2.0
#include "train/step/host_masters.h"

#include <utility>

#include "ops/transfer.h"

namespace twill {

HostMasters::HostMasters(Builder& builder, Optimizer* optimizer) : builder_(builder) {
  if (shares_memory(builder.context())) return;
  for (Parameter& parameter : builder.parameters()) swap_out(parameter.value);
  if (optimizer == nullptr) return;
  for (Optimizer::Slot& slot : optimizer->slots()) {
    swap_out(slot.m);
    swap_out(slot.v);
  }
}

HostMasters::~HostMasters() {
  for (const Swapped& swapped : swapped_) *swapped.slot = swapped.device;
}

void HostMasters::swap_out(View& slot) {
  Swapped& swapped =
      swapped_.emplace_back(Swapped{&slot, slot, Tensor(slot.dtype(), slot.shape())});
  copy_out(builder_.context(), swapped.host.view().bytes(), slot);
  slot = swapped.host.view();
}

void HostMasters::upload() {
  for (const Swapped& swapped : swapped_)
    copy_in(builder_.context(), swapped.device, swapped.host.view().bytes());
  wait(builder_.context());
  // Casts read the masters where the device has them.
  for (Swapped& swapped : swapped_) std::swap(*swapped.slot, swapped.device);
  builder_.refresh_operands();
  for (Swapped& swapped : swapped_) std::swap(*swapped.slot, swapped.device);
}

}  // namespace twill
