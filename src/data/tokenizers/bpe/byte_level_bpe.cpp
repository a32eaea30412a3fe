// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/byte_level_bpe.h"

#include <algorithm>
#include <utility>

#include "data/tokenizers/bpe/byte_level.h"
#include "data/tokenizers/bpe/byte_level_encoder.h"
#include "data/tokenizers/files/hf_files.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
ByteLevelBpe::ByteLevelBpe(TokenizerParts parts, BpeModel model, ByteLevelOptions options)
    : FileTokenizer(std::move(parts)),
      model_(std::move(model)),
      table_(model_.merges),
      options_(std::move(options)) {
  for (std::size_t byte = 0; byte < 256; ++byte)
    byte_ids_[byte] = vocabulary().find(byte_characters()[byte]).value_or(-1);
  bytes_.resize(static_cast<std::size_t>(vocab_size()));
  for (std::int32_t id = 0; id < vocab_size(); ++id) {
    const std::string* token = vocabulary().token(id);
    if (token != nullptr && !is_added(id))
      bytes_[static_cast<std::size_t>(id)] = from_byte_characters(*token).value_or(*token);
  }
  has_gpt2_pattern_ =
      options_.stages.size() == 1 && options_.stages[0].pattern.expression() == kGpt2Pattern;
  can_cut_ =
      !options_.stages.empty() && std::ranges::all_of(options_.stages, [](const SplitStage& stage) {
        return is_known_pattern(stage.pattern.expression());
      });
}

std::unique_ptr<TokenEncoder> ByteLevelBpe::make_encoder() const {
  return std::make_unique<ByteLevelEncoder>(*this);
}

std::string ByteLevelBpe::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string& spelled = text_of(id);
    text += is_added(id) ? spelled : bytes_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::size_t ByteLevelBpe::find_cut(std::string_view text, std::size_t limit) const {
  if (!can_cut_ || text.size() < 2) return 0;
  for (std::size_t at = std::min(limit, text.size() - 1); at > 0; --at) {
    const char before = text[at - 1];
    if (!is_ascii_space(text[at]) || !(is_ascii_letter(before) || is_ascii_digit(before))) continue;
    if (raw_tokens().may_cut(text, at) && normalized_tokens().may_cut(text, at)) return at;
  }
  return 0;
}

std::vector<TokenizerFile> ByteLevelBpe::make_files() const {
  return gpt2_files(vocabulary(), added(), model_, options_);
}

}  // namespace twill
