// SPDX-License-Identifier: Apache-2.0
// tok512.bin and its kin, as llama2.c writes them: int32 longest token; then per token, in the order
// of the ids, float score, int32 length, bytes. Little-endian.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace twill {

struct Llama2cToken {
  float score;
  std::string bytes;
};

// Throws twill::Error.
std::vector<Llama2cToken> parse_llama2c_tokenizer(std::string_view content);

std::unique_ptr<Tokenizer> llama2c_tokenizer(std::string_view content);

}  // namespace twill
