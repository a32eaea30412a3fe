// SPDX-License-Identifier: Apache-2.0
// A ratio of times (measure/ratio.h) in words and as JSON.
#pragma once

#include <string>

#include "io/json/json_value.h"
#include "measure/ratio.h"

namespace twill::cli {

// "1.23 (1.21 to 1.25)"
std::string text_of(const PairedRatio& ratio);
JsonValue json_of(const PairedRatio& ratio);

}  // namespace twill::cli
