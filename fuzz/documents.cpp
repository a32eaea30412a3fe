// SPDX-License-Identifier: Apache-2.0
// Text and JSON Lines as documents, plain or packed.
#include "data/document_reader.h"
#include "target.h"

TWILL_FUZZ(bytes) {
  // Small limits, so that the fuzzer reaches them.
  const auto source = twill::byte_source_of(std::string(bytes), "fuzz.jsonl");
  twill::DocumentReader reader(*source, {.text_key = "text", .max_bytes = 1 << 20});
  std::string document;
  while (reader.next(document))
    if (document.empty() || document.size() > std::size_t{1} << 20) __builtin_trap();
}
