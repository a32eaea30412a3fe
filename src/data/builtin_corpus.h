// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace twill {

// assets/corpus.txt as it was when the program was built.
std::string_view builtin_corpus();

}  // namespace twill
