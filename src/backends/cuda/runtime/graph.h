// SPDX-License-Identifier: Apache-2.0
// A recorded step is a CUDA graph: a thousand launches given to the device as one.
#pragma once

#include <memory>

#include "ops/kernel_table.h"

namespace twill::cuda {

void begin_recording(Queue& queue);
std::unique_ptr<Recording> end_recording(Queue& queue);
void replay(const Recording& recording, Queue& queue);

}  // namespace twill::cuda
