// SPDX-License-Identifier: Apache-2.0
// What a TOML text may ask of its parser. toml++ recurses along dotted keys and makes a table for
// each of their parts: 11,000 parts overflow the stack, fewer take gigabytes. So this looks first.
#pragma once

#include <cstddef>
#include <string_view>

namespace twill {

// Our own files stay below an eighth of these: recipe.phase.0.weights.pattern has five parts.
inline constexpr std::size_t kMaxTomlBytes = std::size_t{4} << 20;
inline constexpr int kMaxTomlDepth = 16;
inline constexpr int kMaxKeyParts = 16;

// One pass over the text, without recursion or memory. Throws `config.toml: line 3: …`; passes over
// everything else that is wrong with a text: the parser says that better.
void require_toml_limits(std::string_view text, std::string_view origin);

}  // namespace twill
