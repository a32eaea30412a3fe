// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/llama_encoder.h"

#include <algorithm>

#include "data/tokenizers/unicode/utf8.h"

namespace twill {

void LlamaEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  encode_text(text, /*is_start=*/true, ids);
}

void LlamaEncoder::encode_rest(std::string_view text, std::vector<std::int32_t>& ids) {
  encode_text(text, /*is_start=*/false, ids);
}

void LlamaEncoder::encode_text(std::string_view text, bool is_start,
                               std::vector<std::int32_t>& ids) {
  using Prefix = LlamaOptions::Prefix;
  ids_ = &ids;
  const Prefix prefix = tokenizer_->options().prefix;
  bool with_prefix = is_start && prefix != Prefix::kNever;
  const auto add_token = [&](std::int32_t id) {
    ids_->push_back(id);
    with_prefix = prefix == Prefix::kAlways;
  };
  tokenizer_->raw_tokens().split(
      text,
      [&](std::string_view piece) {
        const std::string normal = marked(piece, with_prefix);
        tokenizer_->normalized_tokens().split(
            normal, [&](std::string_view part) { split_words(part); }, add_token);
        with_prefix = false;
      },
      add_token);
}

std::string LlamaEncoder::marked(std::string_view text, bool with_prefix) const {
  std::string valid;
  if (!is_valid_utf8(text)) text = valid = with_valid_utf8(text);
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  const bool has_prefix = text.starts_with(' ') || text.starts_with(kSpaceMark);
  if (with_prefix && (!has_prefix || tokenizer_->options().prefix_before_space)) out = kSpaceMark;
  for (const char c : text) {
    if (c == ' ')
      out += kSpaceMark;
    else
      out += c;
  }
  return out;
}

void LlamaEncoder::split_words(std::string_view text) {
  const bool split = tokenizer_->options().split_words;
  if (!split && !tokenizer_->words_are_apart()) return encode_word(text);
  std::size_t word = 0;
  for (std::size_t at = text.find(kSpaceMark, 1); at != text.npos;
       at = text.find(kSpaceMark, at + 1)) {
    if (!split && text.substr(0, at).ends_with(kSpaceMark)) continue;
    encode_word(text.substr(word, at - word));
    word = at;
  }
  encode_word(text.substr(word));
}

void LlamaEncoder::encode_word(std::string_view word) {
  const bool fits = WordCache::fits(word);
  if (fits && cache_.find(word, *ids_)) return;
  append_symbols(word);
  if (fits) cache_.insert(word, symbols_);
  ids_->insert(ids_->end(), symbols_.begin(), symbols_.end());
}

void LlamaEncoder::append_symbols(std::string_view word) {
  symbols_.clear();
  const BpeModel& model = tokenizer_->model();
  if (model.ignore_merges) {
    if (const auto whole = tokenizer_->vocabulary().find(word)) {
      symbols_.push_back(*whole);
      return;
    }
  }
  bool last_unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, utf8_at(word, at).bytes);
    at += character.size();
    const auto id = tokenizer_->vocabulary().find(character);
    const auto has_byte = [&](char byte) {
      return tokenizer_->byte_id(static_cast<unsigned char>(byte)) >= 0;
    };
    const bool as_bytes = !id && model.byte_fallback && std::ranges::all_of(character, has_byte);
    if (id) {
      symbols_.push_back(*id);
    } else if (as_bytes) {
      for (const char byte : character)
        symbols_.push_back(tokenizer_->byte_id(static_cast<unsigned char>(byte)));
    } else if (model.unknown && !(model.fuse_unknown && last_unknown)) {
      symbols_.push_back(*model.unknown);
    }
    last_unknown = !id && !as_bytes;
  }
  merger_.merge(symbols_);
}

}  // namespace twill
