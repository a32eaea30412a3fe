// SPDX-License-Identifier: Apache-2.0
// A tokenizer file of llama2.c: what was accepted encodes a text.
#include "data/tokenizers/files/llama2c_file.h"

#include "target.h"

TWILL_FUZZ(bytes) {
  const auto tokenizer = twill::llama2c_tokenizer(bytes);
  for (const std::int32_t id : tokenizer->encode("Once upon a time \xe2\x82\xac\xff"))
    if (id < 0 || id >= tokenizer->vocab_size()) __builtin_trap();
}
