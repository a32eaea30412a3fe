// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer.h"

#include "base/hash.h"
#include "base/require.h"
#include "data/byte_tokenizer.h"

namespace twill {

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  make_encoder()->encode(text, ids);
  return ids;
}

std::string Tokenizer::hash() const {
  Hasher hasher;
  const auto add = [&](std::string_view text) {
    const auto size = static_cast<std::uint64_t>(text.size());
    hasher.add(&size, sizeof size);
    hasher.add(text.data(), text.size());
  };
  add(name());
  for (const TokenizerFile& file : files()) {
    add(file.name);
    add(file.content);
  }
  return hash_text(hasher.value());
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& where) {
  if (where == "byte") return std::make_unique<ByteTokenizer>();
  fail("unknown tokenizer '{}', expected \"byte\" or the path of a tokenizer", where);
}

}  // namespace twill
