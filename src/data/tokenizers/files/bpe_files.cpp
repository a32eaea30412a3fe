// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/files/bpe_files.h"

#include <utility>

#include "base/require.h"

namespace twill {
namespace {

// The next line of `text`, without its end; removes it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

Vocabulary vocabulary_of(const JsonValue& object) {
  const JsonObject* tokens = object.object();
  require(tokens != nullptr, "the vocabulary must be an object of tokens and ids, got {}",
          object.kind());
  Vocabulary vocabulary;
  for (const auto& [token, id] : *tokens) {
    require(id.integer() != nullptr, "the id of token '{}' must be an integer, got {}", token,
            id.kind());
    vocabulary.add(token, *id.integer());
  }
  require(!vocabulary.empty(), "the vocabulary has no tokens");
  return vocabulary;
}

Vocabulary parse_vocab_json(std::string_view text) { return vocabulary_of(parse_json_value(text)); }

std::vector<MergeText> parse_merges(std::string_view text) {
  std::vector<MergeText> merges;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    const bool two_words = space != line.npos && space > 0 && space + 1 < line.size() &&
                           line.find(' ', space + 1) == line.npos;
    require(two_words, "line {}: expected two tokens divided by one space, got '{}'", number, line);
    merges.push_back({std::string(line.substr(0, space)), std::string(line.substr(space + 1))});
  }
  return merges;
}

std::vector<MergeRule> resolve_merges(const std::vector<MergeText>& merges,
                                      const Vocabulary& vocabulary) {
  std::vector<MergeRule> rules;
  rules.reserve(merges.size());
  for (const MergeText& merge : merges) {
    const auto id_of = [&](const std::string& token) {
      const auto id = vocabulary.find(token);
      require(id.has_value(),
              "merge {} ('{}' '{}') needs the token '{}', which the vocabulary "
              "does not have",
              rules.size() + 1, merge.left, merge.right, token);
      return *id;
    };
    rules.push_back({id_of(merge.left), id_of(merge.right), id_of(merge.left + merge.right)});
  }
  return rules;
}

}  // namespace twill
