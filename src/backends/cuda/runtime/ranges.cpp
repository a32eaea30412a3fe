// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/runtime/ranges.h"

#include <nvtx3/nvToolsExt.h>

namespace twill::cuda {

void push_range(const char* name) { static_cast<void>(nvtxRangePushA(name)); }
void pop_range() { static_cast<void>(nvtxRangePop()); }

}  // namespace twill::cuda
