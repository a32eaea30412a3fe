// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of Hugging Face's tokenizers: byte-level BPE, LLaMA-style BPE, WordPiece.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace twill {

// `kept_files` become the files() of the tokenizer. Throws twill::Error for what is malformed, and
// names what is not supported.
std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text,
                                                std::vector<TokenizerFile> kept_files = {});

}  // namespace twill
