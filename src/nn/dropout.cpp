// SPDX-License-Identifier: Apache-2.0
#include "nn/dropout.h"

#include "ops/layers/dropout.h"

namespace twill {

void Dropout::apply(const Pass& pass, ConstView x, View y, ConstView addend) const {
  dropout(pass.context, {.x = x,
                         .addend = addend,
                         .y = y,
                         .p = p_,
                         .seed = pass.seed,
                         .step = pass.micro_step,
                         .step_at = pass.micro_step_at,
                         .stream = stream_});
}

}  // namespace twill
