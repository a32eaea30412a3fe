// SPDX-License-Identifier: Apache-2.0
// A tokenizer with what real ones have and "byte" lacks: a token between documents, files, and a
// vocabulary of any size. A token is a run of letters (its id is a hash) or one other byte. With
// `mark_begin` a text begins with the id 0, as LLaMA puts a space in front.
#pragma once

#include <cctype>
#include <memory>
#include <string>

#include "base/hash.h"
#include "data/tokenizer.h"

namespace twill {

class WordTokenizer final : public Tokenizer {
 public:
  explicit WordTokenizer(std::int64_t vocab = 50'257, bool mark_begin = false)
      : vocab_(vocab), mark_begin_(mark_begin) {}

  std::string_view name() const override { return "words"; }
  std::int64_t vocab_size() const override { return vocab_; }
  std::optional<std::int32_t> end_of_text() const override {
    return static_cast<std::int32_t>(vocab_ - 1);
  }
  std::string decode(std::span<const std::int32_t>) const override { return "?"; }
  std::vector<TokenizerFile> files() const override { return {{"words.txt", "any\n"}}; }

  std::size_t find_cut(std::string_view text, std::size_t limit) const override {
    for (std::size_t at = std::min(limit, text.size() - 1); at > 0; --at)
      if (!is_letter(text[at - 1]) || !is_letter(text[at])) return at;
    return 0;
  }

  std::unique_ptr<TokenEncoder> make_encoder() const override {
    struct Encoder final : TokenEncoder {
      Encoder(std::int64_t vocab, bool mark_begin) : vocab_(vocab), mark_begin_(mark_begin) {}
      void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
        if (mark_begin_) ids.push_back(0);
        encode_rest(text, ids);
      }
      void encode_rest(std::string_view text, std::vector<std::int32_t>& ids) override {
        for (std::size_t at = 0; at < text.size();) {
          std::size_t end = at + 1;
          while (is_letter(text[at]) && end < text.size() && is_letter(text[end])) ++end;
          const std::uint64_t hash = hash_bytes(text.data() + at, end - at);
          ids.push_back(static_cast<std::int32_t>(hash % static_cast<std::uint64_t>(vocab_ - 1)));
          at = end;
        }
      }
      std::int64_t vocab_;
      bool mark_begin_;
    };
    return std::make_unique<Encoder>(vocab_, mark_begin_);
  }

 private:
  static bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

  std::int64_t vocab_;
  bool mark_begin_;
};

}  // namespace twill
