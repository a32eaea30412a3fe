// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace twill {

// The word that stands for the corpus embedded in the program.
inline constexpr std::string_view kBuiltinCorpus = "builtin";

// The bytes of all sources, in the order given. A source is a file, a folder (all files below it,
// sorted by path, hidden ones passed over), a glob ("data/*.txt") or "builtin". A document without
// a line end at its end gets one before the next begins.
//
// Throws twill::Error when a source is missing, unreadable or empty; `key` begins the message
// ("data.train").
std::string load_text(std::span<const std::string> sources, std::string_view key);

}  // namespace twill
