// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: what was accepted encodes and decodes a text.
#include "data/tokenizers/files/tokenizer_json.h"

#include "target.h"

TWILL_FUZZ(bytes) {
  const auto tokenizer = twill::parse_tokenizer_json(bytes);
  for (const std::int32_t id : tokenizer->encode("A na\xc3\xafve  text, 42\n\xff<|endoftext|>"))
    if (id < 0 || id >= tokenizer->vocab_size()) __builtin_trap();
}
