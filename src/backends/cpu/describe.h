// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace twill::cpu {

// "AVX-512 by Highway 1.0.3, oneDNN 2.6.3".
std::string describe();

}  // namespace twill::cpu
