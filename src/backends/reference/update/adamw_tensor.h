// SPDX-License-Identifier: Apache-2.0
// The update of ops/update/adamw.h for one tensor, in f64: what adamw and adamw_all have in common.
#pragma once

#include <cstdint>

#include "tensor/view.h"

namespace twill::reference {

struct AdamwTensor {
  View weight;
  ConstView grad;
  View m;
  View v;
  View operand;  // or absent
  double lr, beta1, beta2, eps, weight_decay, grad_scale;
  double correction1, correction2;  // 1 - beta^step
  bool freeze_v = false;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint32_t step = 0;
};

void update_tensor(const AdamwTensor& args);

}  // namespace twill::reference
