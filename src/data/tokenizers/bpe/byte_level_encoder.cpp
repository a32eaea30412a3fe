// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/byte_level_encoder.h"

#include "data/tokenizers/bpe/byte_level.h"
#include "data/tokenizers/unicode/unicode.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

// NFC of the valid parts; invalid bytes stay.
std::string composed(std::string_view text) {
  std::string out;
  std::size_t valid_from = 0;
  const auto flush = [&](std::size_t until) {
    if (until > valid_from)
      out += canonical_composition(text.substr(valid_from, until - valid_from));
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    if (!c.valid) {
      flush(at);
      out.append(text, at, c.bytes);
      valid_from = at + c.bytes;
    }
    at += c.bytes;
  }
  flush(text.size());
  return out;
}

}  // namespace

ByteLevelEncoder::ByteLevelEncoder(const ByteLevelBpe& tokenizer)
    : tokenizer_(&tokenizer), merger_(tokenizer.table()) {
  for (const SplitStage& stage : tokenizer.options().stages) matchers_.emplace_back(stage.pattern);
  if (tokenizer.has_gpt2_pattern()) splitter_.emplace(tokenizer.options().stages[0].pattern);
}

void ByteLevelEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  ids_ = &ids;
  encode_text(text, /*is_start=*/true);
}

void ByteLevelEncoder::encode_rest(std::string_view text, std::vector<std::int32_t>& ids) {
  ids_ = &ids;
  encode_text(text, /*is_start=*/false);
}

void ByteLevelEncoder::encode_text(std::string_view text, bool is_start) {
  const ByteLevelOptions& options = tokenizer_->options();
  const auto add_token = [&](std::int32_t id) {
    ids_->push_back(id);
    is_start = true;
  };
  tokenizer_->raw_tokens().split(
      text,
      [&](std::string_view piece) {
        std::string normal;
        if (options.compose) piece = normal = composed(piece);
        tokenizer_->normalized_tokens().split(
            piece,
            [&](std::string_view part) {
              std::string prefixed;
              if (options.add_prefix_space && is_start && !part.starts_with(' '))
                part = prefixed = " " + std::string(part);
              encode_piece(part);
              is_start = false;
            },
            add_token);
      },
      add_token);
}

void ByteLevelEncoder::encode_piece(std::string_view text) {
  text_ = text;
  std::string_view seen = text;
  if (!is_valid_utf8(text)) seen = seen_ = with_invalid_bytes_marked(text);
  if (tokenizer_->has_gpt2_pattern())
    split_by_gpt2(seen);
  else
    split_by_stage(seen, 0, 0);
}

void ByteLevelEncoder::split_by_gpt2(std::string_view seen) {
  for (std::size_t at = 0; at < seen.size();) {
    const std::size_t length = splitter_->word_length(seen, at);
    encode_word(text_.substr(at, length));
    at += length;
  }
}

void ByteLevelEncoder::split_by_stage(std::string_view seen, std::size_t offset,
                                      std::size_t stage) {
  if (stage == matchers_.size()) return encode_word(text_.substr(offset, seen.size()));
  const bool drop_gaps = tokenizer_->options().stages[stage].drop_gaps;
  for (std::size_t at = 0; at < seen.size();) {
    const SplitPattern::Found found = matchers_[stage].find(seen, at);
    if (found.begin > at && !drop_gaps)
      split_by_stage(seen.substr(at, found.begin - at), offset + at, stage + 1);
    if (found.end > found.begin)
      split_by_stage(seen.substr(found.begin, found.end - found.begin), offset + found.begin,
                     stage + 1);
    at = found.end;
  }
}

void ByteLevelEncoder::encode_word(std::string_view word) {
  if (!WordCache::fits(word)) {
    append_symbols(word);
    ids_->insert(ids_->end(), symbols_.begin(), symbols_.end());
    return;
  }
  if (cache_.find(word, *ids_)) return;
  append_symbols(word);
  cache_.insert(word, symbols_);
  ids_->insert(ids_->end(), symbols_.begin(), symbols_.end());
}

void ByteLevelEncoder::append_symbols(std::string_view word) {
  symbols_.clear();
  const BpeModel& model = tokenizer_->model();
  if (model.ignore_merges) {
    if (const auto whole = tokenizer_->vocabulary().find(to_byte_characters(word))) {
      symbols_.push_back(*whole);
      return;
    }
  }
  bool last_unknown = false;
  for (const char byte : word) {
    const std::int32_t id = tokenizer_->byte_ids()[static_cast<unsigned char>(byte)];
    if (id >= 0)
      symbols_.push_back(id);
    else if (model.unknown && !(model.fuse_unknown && last_unknown))
      symbols_.push_back(*model.unknown);
    last_unknown = id < 0;
  }
  merger_.merge(symbols_);
}

}  // namespace twill
