// SPDX-License-Identifier: Apache-2.0
// Seconds of stretches of a context's work: by the device's clock where the backend has one, so
// that nothing stops in between; elsewhere by the host's. What is done with them: src/measure.
#pragma once

#include <memory>

#include "ops/context.h"

namespace twill {

// The context outlives the timer.
std::unique_ptr<Timer> open_timer(const Context& context);

}  // namespace twill
