// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE as in GPT-2 and its heirs: a pattern cuts the text into words, the bytes of a word
// are joined by rank.
//
// A byte that is not part of valid UTF-8 is, for the pattern, a symbol that is neither letter,
// number nor space; its id is that of the byte. So decode(encode(x)) == x for all bytes, as long as
// the vocabulary has all 256 and no normalizer is set. As in Hugging Face's tokenizers, a byte
// without a token becomes the unknown token, or nothing where there is none.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/tokenizers/file_tokenizer.h"
#include "data/tokenizers/words/split_pattern.h"

namespace twill {

struct SplitStage {
  SplitPattern pattern;
  bool drop_gaps = false;  // what lies between the matches is dropped; else it is a word as well
};

struct ByteLevelOptions {
  std::vector<SplitStage> stages;  // each cuts the pieces of the one before it
  bool add_prefix_space = false;
  bool compose = false;  // NFC before all else
};

class ByteLevelBpe final : public FileTokenizer {
 public:
  ByteLevelBpe(TokenizerParts parts, BpeModel model, ByteLevelOptions options);

  std::string_view name() const override { return "gpt2-bpe"; }
  std::unique_ptr<TokenEncoder> make_encoder() const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::size_t find_cut(std::string_view text, std::size_t limit) const override;

  const BpeModel& model() const { return model_; }
  const MergeTable& table() const { return table_; }
  const ByteLevelOptions& options() const { return options_; }
  // -1: the byte has no token.
  const std::array<std::int32_t, 256>& byte_ids() const { return byte_ids_; }
  // One stage, with GPT-2's own pattern.
  bool has_gpt2_pattern() const { return has_gpt2_pattern_; }

 protected:
  std::vector<TokenizerFile> make_files() const override;

 private:
  BpeModel model_;
  MergeTable table_;
  ByteLevelOptions options_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::vector<std::string> bytes_;  // of each id
  bool has_gpt2_pattern_ = false;
  bool can_cut_ = false;
};

}  // namespace twill
