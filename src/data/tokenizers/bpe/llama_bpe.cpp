// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/llama_bpe.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "data/tokenizers/bpe/llama_encoder.h"
#include "data/tokenizers/files/hf_files.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

bool joins_space_behind(std::string_view token) {
  for (std::size_t at = token.find(kSpaceMark, 1); at != token.npos;
       at = token.find(kSpaceMark, at + 1))
    if (!token.substr(0, at).ends_with(kSpaceMark)) return true;
  return false;
}

std::string with_spaces(std::string_view token) {
  std::string text;
  for (std::size_t at = 0; at < token.size();) {
    if (token.substr(at).starts_with(kSpaceMark)) {
      text += ' ';
      at += kSpaceMark.size();
    } else {
      text += token[at++];
    }
  }
  return text;
}

}  // namespace

LlamaBpe::LlamaBpe(TokenizerParts parts, BpeModel model, LlamaOptions options)
    : FileTokenizer(std::move(parts)),
      model_(std::move(model)),
      table_(model_.merges),
      options_(options) {
  words_are_apart_ = !model_.ignore_merges && vocabulary().find(kSpaceMark).has_value() &&
                     std::ranges::none_of(model_.merges, [&](const MergeRule& rule) {
                       return joins_space_behind(*vocabulary().token(rule.result));
                     });
  texts_.resize(static_cast<std::size_t>(vocab_size()));
  for (std::int32_t id = 0; id < vocab_size(); ++id)
    if (const std::string* token = vocabulary().token(id))
      texts_[static_cast<std::size_t>(id)] = with_spaces(*token);
  for (const AddedToken& token : added())
    texts_[static_cast<std::size_t>(token.id)] = token.special ? "" : token.content;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary().find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
    if (model_.byte_fallback && byte_ids_[byte] >= 0)
      texts_[static_cast<std::size_t>(byte_ids_[byte])] = std::string(1, static_cast<char>(byte));
  }
}

std::unique_ptr<TokenEncoder> LlamaBpe::make_encoder() const {
  return std::make_unique<LlamaEncoder>(*this);
}

std::string LlamaBpe::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    text_of(id);  // throws where there is none
    text += texts_[static_cast<std::size_t>(id)];
  }
  if (options_.strip_first_space && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::size_t LlamaBpe::find_cut(std::string_view text, std::size_t limit) const {
  if ((!words_are_apart_ && !options_.split_words) || text.empty()) return 0;
  for (std::size_t at = std::min(limit, text.size() - 1); at > 0; --at) {
    const char before = text[at - 1];
    if (text[at] != ' ' || before == ' ' || !is_ascii(before)) continue;
    if (raw_tokens().may_cut(text, at) && normalized_tokens().may_cut(text, at)) return at;
  }
  return 0;
}

std::vector<TokenizerFile> LlamaBpe::make_files() const {
  return llama_files(vocabulary(), added(), model_);
}

}  // namespace twill
