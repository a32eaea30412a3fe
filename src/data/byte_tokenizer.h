// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/tokenizer.h"

namespace twill {

// One token per byte: any file is a text, and decode(encode(x)) == x for all bytes.
class ByteTokenizer final : public Tokenizer {
 public:
  std::string_view name() const override { return "byte"; }
  std::int64_t vocab_size() const override { return 256; }
  std::unique_ptr<TokenEncoder> make_encoder() const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::size_t find_cut(std::string_view text, std::size_t limit) const override;
};

}  // namespace twill
