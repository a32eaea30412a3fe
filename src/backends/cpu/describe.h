// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace twill::cpu {

// "AVX-512 by Highway 1.0.3, oneDNN 2.6.3".
std::string describe();
// "AVX-512": the target that run-time dispatch takes.
std::string_view simd_name();

}  // namespace twill::cpu
