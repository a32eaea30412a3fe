// SPDX-License-Identifier: Apache-2.0
// BPE over characters as in LLaMA 1 and 2: spaces are written as U+2581, one is put in front of the
// text, and a character without a token becomes the tokens of its bytes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizers/file_tokenizer.h"

namespace twill {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

struct LlamaOptions {
  enum class Prefix {
    kNever,
    kFirst,   // the start of the text
    kAlways,  // and after every added token
  };
  Prefix prefix = Prefix::kAlways;
  bool prefix_before_space = true;  // also where the text begins with a space
  bool split_words = false;         // every space mark begins a word of its own
  bool strip_first_space = true;    // of what decode gives
};

class LlamaBpe final : public FileTokenizer {
 public:
  LlamaBpe(TokenizerParts parts, BpeModel model, LlamaOptions options);

  std::string_view name() const override { return "llama-bpe"; }
  std::unique_ptr<TokenEncoder> make_encoder() const override;
  // Special tokens write nothing; bytes are written as they are.
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::size_t find_cut(std::string_view text, std::size_t limit) const override;

  const BpeModel& model() const { return model_; }
  const MergeTable& table() const { return table_; }
  const LlamaOptions& options() const { return options_; }
  // No token joins a character with a space mark behind it: the text falls apart into words there,
  // with the same ids.
  bool words_are_apart() const { return words_are_apart_; }
  // "<0x0A>"; -1: the vocabulary has none.
  std::int32_t byte_id(unsigned char byte) const { return byte_ids_[byte]; }

 protected:
  std::vector<TokenizerFile> make_files() const override;

 private:
  BpeModel model_;
  MergeTable table_;
  LlamaOptions options_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::vector<std::string> texts_;  // of each id, as decode writes it
  bool words_are_apart_ = false;
};

}  // namespace twill
