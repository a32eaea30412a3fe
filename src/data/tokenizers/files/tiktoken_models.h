// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "data/tokenizer.h"

namespace twill {

// A file of ranks says neither the pattern nor the special tokens. A file named after cl100k or
// o200k gets theirs; any other GPT-2's pattern and <|endoftext|> right after the ranks.
std::unique_ptr<Tokenizer> tiktoken_tokenizer(std::string_view text, std::string_view file_name);

}  // namespace twill
