// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/wordpiece/wordpiece_encoder.h"

#include <algorithm>

#include "data/tokenizers/unicode/unicode.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

std::int64_t num_chars(std::string_view text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::string cleaned(std::string_view text, const WordPieceOptions& options) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    const std::string_view bytes = text.substr(at, c.bytes);
    at += c.bytes;
    if (options.clean_text) {
      if (c.value == 0 || c.value == kReplacement || is_bert_control(c.value)) continue;
      if (is_white_space(c.value)) {
        out += ' ';
        continue;
      }
    }
    if (options.space_cjk && is_cjk(c.value))
      ((out += ' ') += bytes) += ' ';
    else
      out += bytes;
  }
  return out;
}

// Calls visit(character, its bytes) for each.
template <class Visit>
std::string rebuilt(std::string_view text, const Visit& visit) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    visit(out, c.value, text.substr(at, c.bytes));
    at += c.bytes;
  }
  return out;
}

std::string lower_cased(std::string_view text) {
  return rebuilt(text, [](std::string& out, char32_t c, std::string_view) {
    if (c < 0x80)
      out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    else
      append_lower_case(out, c);
  });
}

}  // namespace

std::string normalized(std::string_view text, const WordPieceOptions& options) {
  std::string out = cleaned(text, options);
  if (options.strip_accents && !std::ranges::all_of(out, is_ascii)) {
    const auto keep = [](std::string& kept, char32_t c, std::string_view bytes) {
      if (!is_nonspacing_mark(c)) kept += bytes;
    };
    out = rebuilt(canonical_decomposition(out), keep);
  }
  return options.lower_case ? lower_cased(out) : out;
}

void WordPieceEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  ids_ = &ids;
  const auto add_token = [&](std::int32_t id) { ids_->push_back(id); };
  tokenizer_->raw_tokens().split(
      text, [&](std::string_view piece) { encode_piece(piece); }, add_token);
}

void WordPieceEncoder::encode_piece(std::string_view text) {
  if (!tokenizer_->normalized_tokens().empty()) {
    const std::string normal = normalized(with_valid_utf8(text), tokenizer_->options());
    found_.clear();
    tokenizer_->normalized_tokens().split(
        normal, [&](std::string_view part) { encode_normalized(part); },
        [&](std::int32_t id) { found_.push_back(id); });
    ids_->insert(ids_->end(), found_.begin(), found_.end());
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    if (is_bert_space(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && !is_bert_space(text[end])) ++end;
    encode_chunk(text.substr(at, end - at));
    at = end;
  }
}

// What stands between two spaces; the ids of a short one are remembered under its raw bytes, so
// that most of a text is neither normalized nor divided.
void WordPieceEncoder::encode_chunk(std::string_view chunk) {
  const bool fits = WordCache::fits(chunk);
  if (fits && cache_.find(chunk, *ids_)) return;
  found_.clear();
  encode_normalized(normalized(with_valid_utf8(chunk), tokenizer_->options()));
  if (fits) cache_.insert(chunk, found_);
  ids_->insert(ids_->end(), found_.begin(), found_.end());
}

void WordPieceEncoder::encode_normalized(std::string_view text) {
  std::size_t word = 0;
  const auto end_word = [&](std::size_t end) {
    if (end > word) encode_word(text.substr(word, end - word));
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    const std::size_t next = at + c.bytes;
    if (is_white_space(c.value) || is_bert_punctuation(c.value)) {
      end_word(at);
      if (!is_white_space(c.value)) encode_word(text.substr(at, c.bytes));
      word = next;
    }
    at = next;
  }
  end_word(text.size());
}

void WordPieceEncoder::encode_word(std::string_view word) {
  const std::size_t before = found_.size();
  const auto unknown = [&] {
    found_.resize(before);
    found_.push_back(tokenizer_->unknown());
  };
  if (num_chars(word) > tokenizer_->options().max_chars) return unknown();
  for (std::size_t at = 0; at < word.size();) {
    const TokenMap& pieces = at == 0 ? tokenizer_->first_pieces() : tokenizer_->later_pieces();
    std::size_t length = std::min(word.size() - at, tokenizer_->longest_piece());
    auto found = pieces.end();
    // A length that ends inside a character finds nothing: tokens are valid UTF-8.
    while (length > 0 && (found = pieces.find(word.substr(at, length))) == pieces.end()) --length;
    if (length == 0) return unknown();
    found_.push_back(found->second);
    at += length;
  }
}

}  // namespace twill
