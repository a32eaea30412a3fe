// SPDX-License-Identifier: Apache-2.0
// The initial weights of a model.
#pragma once

#include <cstdint>
#include <deque>

#include "nn/builder.h"

namespace twill {

// Fills every parameter: N(0, std) drawn from (seed, kInit, hash of the name, element), ones or
// zeros. A parameter's numbers depend on its name alone, so adding a layer changes no other.
void initialise(std::deque<Parameter>& parameters, std::uint64_t seed);

}  // namespace twill
