// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/byte_tokenizer.h"

namespace twill {

// Bytes, with a begin and an end of text when set.
class MarkedBytes final : public Tokenizer {
 public:
  std::string_view name() const override { return "marked"; }
  std::int64_t vocab_size() const override { return 256; }
  std::unique_ptr<TokenEncoder> make_encoder() const override { return bytes_.make_encoder(); }
  std::string decode(std::span<const std::int32_t> ids) const override {
    return bytes_.decode(ids);
  }
  std::size_t find_cut(std::string_view, std::size_t) const override { return 0; }
  std::optional<std::int32_t> begin_of_text() const override { return begin; }
  std::optional<std::int32_t> end_of_text() const override { return end; }

  std::optional<std::int32_t> begin, end;

 private:
  ByteTokenizer bytes_;
};

}  // namespace twill
