// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/files/llama2c_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/require.h"
#include "data/tokenizers/bpe/llama_bpe.h"
#include "data/tokenizers/files/bpe_files.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

// The first three ids, whatever the file calls them ("\n<s>\n").
constexpr std::array kControl = {"<unk>", "<s>", "</s>"};
constexpr std::int32_t kFirstMagicOfLlmC = 20240328;

template <class Value>
Value take(std::string_view content, std::size_t& at, std::size_t token) {
  Value value;
  require(content.size() - at >= sizeof value, "the file ends inside token {}, at byte {}", token,
          content.size());
  std::memcpy(&value, content.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

std::vector<std::string> characters_of(std::string_view token) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t bytes = utf8_at(token, at).bytes;
    characters.emplace_back(token.substr(at, bytes));
    at += bytes;
  }
  return characters;
}

std::string with_marks(std::string_view bytes) {
  std::string token;
  for (const char c : bytes)
    if (c == ' ')
      token += kSpaceMark;
    else
      token += c;
  return token;
}

}  // namespace

std::vector<Llama2cToken> parse_llama2c_tokenizer(std::string_view content) {
  std::size_t at = 0;
  require(content.size() >= sizeof(std::int32_t), "the file has {} bytes, too few for a tokenizer",
          content.size());
  const auto longest = take<std::int32_t>(content, at, 0);
  require(longest != kFirstMagicOfLlmC,
          "this tokenizer.bin is llm.c's, which can only decode; give tokenizer.json or vocab.json "
          "with merges.txt");
  require(longest > 0, "the longest token has {} bytes, expected at least 1", longest);
  std::vector<Llama2cToken> tokens;
  while (at < content.size()) {
    const auto score = take<float>(content, at, tokens.size());
    const auto length = take<std::int32_t>(content, at, tokens.size());
    require(std::isfinite(score), "token {} has no score", tokens.size());
    require(length >= 0 && length <= longest, "token {} has {} bytes, expected 0 to {}",
            tokens.size(), length, longest);
    const auto bytes = static_cast<std::size_t>(length);
    require(content.size() - at >= bytes, "the file ends inside token {}, at byte {}",
            tokens.size(), content.size());
    tokens.push_back({score, std::string(content.substr(at, bytes))});
    at += bytes;
  }
  require(tokens.size() > kControl.size(), "the file has {} tokens, expected at least {}",
          tokens.size(), kControl.size() + 1);
  return tokens;
}

std::unique_ptr<Tokenizer> llama2c_tokenizer(std::string_view content) {
  const std::vector<Llama2cToken> tokens = parse_llama2c_tokenizer(content);
  TokenizerParts parts;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    require(tokens[id].bytes.size() <= kMaxDerivedToken,
            "token {} has {} bytes, expected at most {}", id, tokens[id].bytes.size(),
            kMaxDerivedToken);
    require(is_valid_utf8(tokens[id].bytes), "token {} is not valid UTF-8", id);
    const bool control = id < kControl.size();
    parts.vocabulary.add(control ? kControl[id] : with_marks(tokens[id].bytes),
                         static_cast<std::int64_t>(id));
    if (control)
      parts.added.push_back({.content = kControl[id], .id = static_cast<std::int32_t>(id)});
  }
  std::vector<std::int32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::int32_t id) {
    return tokens[static_cast<std::size_t>(id)].score;
  });
  BpeModel model;
  model.unknown = 0;
  model.fuse_unknown = true;
  model.byte_fallback = true;
  model.merges = derive_merges({parts.vocabulary, order, characters_of});
  return std::make_unique<LlamaBpe>(std::move(parts), std::move(model), LlamaOptions{});
}

}  // namespace twill
