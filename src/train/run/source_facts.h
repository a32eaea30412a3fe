// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "data/open_data.h"
#include "train/run/run_config.h"
#include "train/run/training_run.h"

namespace twill {

// What each source of a mix gives to a run of this config.
std::vector<SourceFacts> source_facts(const TrainingData& data, const RunConfig& config);

}  // namespace twill
