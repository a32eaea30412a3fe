// SPDX-License-Identifier: Apache-2.0
// vocab.txt: what was accepted encodes the file's own bytes.
#include "data/tokenizers/wordpiece/wordpiece.h"
#include "target.h"

TWILL_FUZZ(bytes) {
  const auto tokenizer = twill::wordpiece_tokenizer(bytes);
  const auto ids = tokenizer->encode(bytes);
  for (const std::int32_t id : ids)
    if (id < 0 || id >= tokenizer->vocab_size()) __builtin_trap();
  tokenizer->decode(ids);
}
