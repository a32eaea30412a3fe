// SPDX-License-Identifier: Apache-2.0
// The tokenizer that lies beside a model, and the byte tokenizer as Hugging Face knows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"

namespace twill {

// Where open_tokenizer() finds the tokenizer of a model given as a folder or a file: "byte"
// for one of our own exports, else a path; empty when there is none. llama2.c keeps tok512.bin
// beside a model of 512 tokens.
std::string tokenizer_beside(const std::string& model_path, std::int64_t vocab);

// Throws twill::Error where the tokenizer has ids that the model does not know.
void require_tokenizer_fits(const Tokenizer& tokenizer, std::int64_t model_vocab,
                            const std::string& model_path);

// The files to put beside an exported model. The byte tokenizer, which needs none of its own, is
// written as a byte-level BPE without merges whose ids are the bytes.
std::vector<TokenizerFile> exported_tokenizer_files(const Tokenizer& tokenizer);

}  // namespace twill
