// SPDX-License-Identifier: Apache-2.0
// What a sparse run's memory table is compared with.
#pragma once

#include <vector>

#include "nn/builder.h"
#include "train/run/run_config.h"

namespace twill {

// The memory table that the same run would have with recipe=dense. Reserves as Trainer does, and
// takes nothing.
std::vector<MemoryLine> dense_memory_table(const Context& context, const RunConfig& config);

}  // namespace twill
