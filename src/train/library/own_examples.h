// SPDX-License-Identifier: Apache-2.0
// Examples that a program gives (twill/session.h, OwnData) as data of a trainer.
#pragma once

#include <string>

#include "train/run/run_config.h"
#include "train/step/trainer.h"
#include "twill/session.h"

namespace twill {

// Stands in data.train of a run with such examples: no file has this name, so whoever resumes the run
// without them is refused.
inline constexpr const char* kExamplesOfAProgram = "(examples of a program)";

bool has_own_examples(const RunConfig& config);

// Throws twill::Error where a function is missing.
TrainingData own_examples(const OwnData& data, const RunConfig& config);

}  // namespace twill
