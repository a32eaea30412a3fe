// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: no table, and callers see that there is none.
#include "ops/kernel_table.h"

namespace twill {

const KernelTable* cuda_table() { return nullptr; }

}  // namespace twill
