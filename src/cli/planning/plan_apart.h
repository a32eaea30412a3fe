// SPDX-License-Identifier: Apache-2.0
// A plan measured in a process of its own, as Supervisor asks for. To time packed products is to
// launch them, and the driver of an H200 keeps it at lower clocks for as long as a process lives that has: a run
// whose plan says dense would pay for what it does not use.
#pragma once

#include "train/run/run_config.h"

namespace twill::cli {

// `twill plan --quiet --fresh` of the config, by this very program; its progress goes to the same terminal.
// False, with a warning, where it fails. Throws twill::Error where a signal has ended it: that was meant for us.
bool measure_plan_apart(const RunConfig& config);

}  // namespace twill::cli
