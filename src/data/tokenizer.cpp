// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer.h"

#include "base/hash.h"

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

}  // namespace twill
