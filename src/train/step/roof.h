// SPDX-License-Identifier: Apache-2.0
// What the machine can do at best, measured: shares of it say how much there is left to gain. Both
// roofs are those of `twill bench op` (bench/README.md), on a GPU with operands of its size.
//
//   copy      bytes per second, read and written together. Shared memory: 64 MB by the context's
//             threads. GPU: 512 MiB
//   product   FLOP/s of the library's own product: 2048 x 2048 x 2048 in f32, on a GPU
//             8192 x 8192 x 8192 in bf16 with its operands as they lie and transposed
//
// The best of many calls: a burst, before heat and power limits reduce the clocks. A long run stays
// some percent below it whatever it does.
#pragma once

#include "ops/context.h"

namespace twill {

struct Roof {
  double copy = 0.0;  // 0: not known, like the other
  double product = 0.0;
};

// Leaves nothing behind; on a GPU less than half a second. Where memory for the operands is short, smaller
// ones are taken.
double measure_copy_roof(const Context& context);
double measure_product_roof(const Context& context);
Roof measure_roof(const Context& context);

}  // namespace twill
