// SPDX-License-Identifier: Apache-2.0
// Device times between events on the queue's stream, good to half a microsecond. Where the device
// is ahead of the host a stretch includes the wait for its launch: some microseconds.
#pragma once

#include <memory>

#include "ops/kernel_table.h"

namespace twill::cuda {

// Not for work that is being recorded: it does not run.
std::unique_ptr<Timer> open_timer(Queue& queue);

}  // namespace twill::cuda
