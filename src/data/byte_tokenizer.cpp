// SPDX-License-Identifier: Apache-2.0
#include "data/byte_tokenizer.h"

#include "base/require.h"

namespace twill {

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    require(id >= 0 && id < vocab_size(), "[byte tokenizer] id {} is outside 0 to 255", id);
    text += static_cast<char>(id);
  }
  return text;
}

}  // namespace twill
