// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/cast.h"

#include <algorithm>

#include "backends/reference/kernels.h"
#include "base/bf16.h"

namespace twill::reference {

void cast(const CastArgs& args, const Device&, Queue&) {
  const float* x = args.x.as<float>();
  std::transform(x, x + args.x.num_elements(), args.y.as<Bf16>(), to_bf16);
}

}  // namespace twill::reference
