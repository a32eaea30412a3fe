// SPDX-License-Identifier: Apache-2.0
// What the memory of a GPU can do: the roof of every kernel that memory bounds.
#pragma once

#include "ops/kernel_table.h"

namespace twill::cuda {

// Takes two times 512 MiB for about 20 ms; 0 when they are not to be had.
double copy_bytes_per_second(const Device& device, Queue& queue);

}  // namespace twill::cuda
