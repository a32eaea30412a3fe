// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace twill {

// The text without white space at its end, at both ends. White space is what Python's str.isspace()
// says, in UTF-8; a broken sequence is none.
std::string_view without_trailing_space(std::string_view text);
std::string_view stripped(std::string_view text);

}  // namespace twill
