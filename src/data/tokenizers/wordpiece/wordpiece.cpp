// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/wordpiece/wordpiece.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/require.h"
#include "data/tokenizers/files/hf_files.h"
#include "data/tokenizers/unicode/utf8.h"
#include "data/tokenizers/wordpiece/wordpiece_encoder.h"

namespace twill {
namespace {

// Of BERT's own vocabulary; found in the text as they are.
constexpr std::array kSpecial = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

// Before these no space is written.
bool joins_left(std::string_view token) {
  for (const std::string_view start : {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"})
    if (token.starts_with(start)) return true;
  return false;
}

}  // namespace

WordPiece::WordPiece(TokenizerParts parts, WordPieceOptions options)
    : FileTokenizer(std::move(parts)), options_(std::move(options)) {
  const auto unknown = vocabulary().find(options_.unknown);
  require(unknown.has_value(), "the vocabulary has no {}", options_.unknown);
  unknown_ = *unknown;
  for (std::int32_t id = 0; id < vocabulary().size(); ++id) {
    const std::string* token = vocabulary().token(id);
    if (token == nullptr) continue;
    longest_piece_ = std::max(longest_piece_, token->size());
    first_pieces_.emplace(*token, id);
    if (token->starts_with(options_.prefix))
      later_pieces_.emplace(token->substr(options_.prefix.size()), id);
  }
  std::vector<AddedToken> normal;
  for (AddedToken token : added()) {
    if (!token.normalized) continue;
    token.content = normalized(with_valid_utf8(token.content), options_);
    normal.push_back(std::move(token));
  }
  set_normalized_tokens(normal);
}

std::unique_ptr<TokenEncoder> WordPiece::make_encoder() const {
  return std::make_unique<WordPieceEncoder>(*this);
}

std::string WordPiece::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    std::string_view token = text_of(id);
    if (text.empty()) {
      text = token;  // as Hugging Face: the first keeps its prefix
      continue;
    }
    if (token.starts_with(options_.prefix)) {
      token.remove_prefix(options_.prefix.size());
    } else if (!(options_.clean_up && joins_left(token))) {
      text += ' ';
    }
    text += token;
  }
  return text;
}

std::size_t WordPiece::find_cut(std::string_view text, std::size_t limit) const {
  if (text.empty()) return 0;
  for (std::size_t at = std::min(limit, text.size() - 1); at > 0; --at)
    if (is_bert_space(text[at]) && raw_tokens().may_cut(text, at) &&
        normalized_tokens().may_cut(text, at))
      return at;
  return 0;
}

std::vector<TokenizerFile> WordPiece::make_files() const {
  return bert_files(vocabulary(), added(), options_);
}

Vocabulary parse_wordpiece_vocab(std::string_view text) {
  Vocabulary vocabulary;
  for (std::int64_t id = 0; !text.empty(); ++id) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    require(is_valid_utf8(line), "line {}: the token is not valid UTF-8", id + 1);
    vocabulary.add(std::string(line), id);
  }
  require(!vocabulary.empty(), "the vocabulary has no tokens");
  return vocabulary;
}

std::unique_ptr<Tokenizer> wordpiece_tokenizer(std::string_view vocab_text) {
  TokenizerParts parts;
  parts.vocabulary = parse_wordpiece_vocab(vocab_text);
  for (const char* name : kSpecial)
    if (const auto id = parts.vocabulary.find(name))
      parts.added.push_back({.content = name, .id = *id});
  return std::make_unique<WordPiece>(std::move(parts), WordPieceOptions{});
}

}  // namespace twill
