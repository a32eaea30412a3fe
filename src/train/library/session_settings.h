// SPDX-License-Identifier: Apache-2.0
// What a program has asked for, as what a run is told.
#pragma once

#include <string>
#include <vector>

#include "train/run/run_config.h"
#include "twill/session.h"

namespace twill {

// The settings with recipe and own examples as keys. Throws twill::Error where two of them say the same
// thing, or are of a resumed run's own.
std::vector<std::string> overrides_of(const SessionOptions& options, bool is_resumed);

// Throws twill::Error for keys that a session in memory has no use for, naming the reason.
void require_in_memory(const SessionOptions& options, RunConfig config);

}  // namespace twill
