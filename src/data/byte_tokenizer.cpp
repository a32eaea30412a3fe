// SPDX-License-Identifier: Apache-2.0
#include "data/byte_tokenizer.h"

#include <algorithm>

#include "base/require.h"

namespace twill {

namespace {

class ByteEncoder final : public TokenEncoder {
 public:
  void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
    ids.reserve(ids.size() + text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
};

}  // namespace

std::unique_ptr<TokenEncoder> ByteTokenizer::make_encoder() const {
  return std::make_unique<ByteEncoder>();
}

std::size_t ByteTokenizer::find_cut(std::string_view text, std::size_t limit) const {
  return std::min(limit, text.size());
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
