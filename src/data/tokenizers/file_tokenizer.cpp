// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/file_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/require.h"

namespace twill {

FileTokenizer::FileTokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  for (std::int64_t id = 0; id < parts_.vocabulary.size(); ++id)
    texts_.push_back(parts_.vocabulary.token(id));
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  for (AddedToken& token : parts_.added) {
    if (const auto known = parts_.vocabulary.find(token.content)) token.id = *known;
    require(token.id >= 0 && token.id < kMaxTokenIds,
            "added token '{}' has the id {}, expected 0 to {}", token.content, token.id,
            kMaxTokenIds - 1);
    const auto place = static_cast<std::size_t>(token.id);
    if (place >= texts_.size()) texts_.resize(place + 1, nullptr);
    if (place >= is_added_.size()) is_added_.resize(place + 1), is_special_.resize(place + 1);
    require(texts_[place] == nullptr || *texts_[place] == token.content,
            "tokens '{}' and '{}' have the same id {}",
            texts_[place] ? *texts_[place] : std::string(), token.content, token.id);
    texts_[place] = &token.content;
    is_added_[place] = true;
    is_special_[place] = token.special;
    (token.normalized ? normalized : raw).push_back(token);
  }
  require(!texts_.empty(), "the tokenizer has no tokens");
  is_added_.resize(texts_.size());
  is_special_.resize(texts_.size());
  raw_tokens_ = AddedTokenFinder(raw);
  normalized_tokens_ = AddedTokenFinder(normalized);
  end_of_text_ = first_of({"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[SEP]"});
  begin_of_text_ = first_of({"<|begin_of_text|>", "<s>", "<bos>", "[CLS]"});
}

std::vector<TokenizerFile> FileTokenizer::files() const {
  return parts_.kept_files.empty() ? make_files() : parts_.kept_files;
}

const std::string& FileTokenizer::text_of(std::int32_t id) const {
  require(id >= 0 && id < vocab_size(), "[{} tokenizer] id {} is outside 0 to {}", name(), id,
          vocab_size() - 1);
  const std::string* text = texts_[static_cast<std::size_t>(id)];
  require(text != nullptr, "[{} tokenizer] no token has the id {}", name(), id);
  return *text;
}

void FileTokenizer::set_normalized_tokens(const std::vector<AddedToken>& tokens) {
  normalized_tokens_ = AddedTokenFinder(tokens);
}

std::optional<std::int32_t> FileTokenizer::first_of(
    std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto added = std::ranges::find(parts_.added, name, &AddedToken::content);
    if (added != parts_.added.end()) return added->id;
    if (const auto known = parts_.vocabulary.find(name)) return known;
  }
  return std::nullopt;
}

}  // namespace twill
