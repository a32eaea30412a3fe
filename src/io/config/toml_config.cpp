// SPDX-License-Identifier: Apache-2.0
#include "io/config/toml_config.h"

#include <algorithm>
#include <utility>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/config/config_node.h"
#include "io/config/toml_limits.h"

namespace twill {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool is_key(std::string_view word) {
  constexpr std::string_view kKeyCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !word.empty() && word.find_first_not_of(kKeyCharacters) == std::string_view::npos;
}

std::vector<std::string> split_key(std::string_view dotted_key) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= dotted_key.size();) {
    const std::size_t end = std::min(dotted_key.find('.', begin), dotted_key.size());
    words.emplace_back(dotted_key.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// {a = {b = node}} for the words a, b.
ConfigNode nested(const std::vector<std::string>& words, ConfigNode node) {
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    node.key = *word;
    ConfigNode table{.value = ConfigNode::Table{}, .origin = node.origin};
    table.children.push_back(std::move(node));
    node = std::move(table);
  }
  return node;
}

// The text under the words in one layer. A plain value on the last but one word is the short form.
std::optional<std::string> find_text(const ConfigNode& layer,
                                     const std::vector<std::string>& words) {
  const ConfigNode* node = &layer;
  for (std::size_t depth = 0; node != nullptr; ++depth) {
    if (!node->table()) return depth + 1 >= words.size() ? text_of(*node) : std::nullopt;
    if (depth == words.size()) return std::nullopt;
    node = find(*node->table(), words[depth]);
  }
  return std::nullopt;
}

}  // namespace

TomlDocument TomlDocument::parse_file(const std::string& path) {
  return parse_text(read_file(path, kMaxTomlBytes), path);
}

TomlDocument TomlDocument::parse_text(std::string_view text, std::string_view origin) {
  TomlDocument document;
  document.layers_.push_back(std::make_shared<const ConfigNode>(parse_toml(text, origin)));
  return document;
}

void TomlDocument::overlay(std::string_view key_equals_value) {
  const std::string origin = fmt::format("command line: {}", key_equals_value);
  const std::size_t equals = key_equals_value.find('=');
  require(equals != std::string_view::npos, "{}: expected key=value", origin);
  const std::vector<std::string> words = split_key(trimmed(key_equals_value.substr(0, equals)));
  require(std::ranges::all_of(words, is_key),
          "{}: expected key=value with a key like train.steps before the '='", origin);
  require(words.size() <= kMaxKeyParts, "{:.60}…: a key of more than {} parts", origin,
          kMaxKeyParts);
  const std::string value(trimmed(key_equals_value.substr(equals + 1)));
  layers_.push_back(
      std::make_shared<const ConfigNode>(nested(words, parse_toml_value(value, origin))));
}

void TomlDocument::overlay(const TomlDocument& upper) {
  const auto added = upper.layers_;  // a copy: the document may be laid over itself
  layers_.insert(layers_.end(), added.begin(), added.end());
}

std::optional<std::string> TomlDocument::text_at(std::string_view dotted_key) const {
  const std::vector<std::string> words = split_key(dotted_key);
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer)
    if (std::optional<std::string> text = find_text(**layer, words)) return text;
  return std::nullopt;
}

namespace {

const ConfigNode* node_at(const ConfigNode* node, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    node = node && node->table() ? find(*node->table(), word) : nullptr;
  return node;
}

}  // namespace

bool TomlDocument::has(std::string_view dotted_key) const {
  const std::vector<std::string> words = split_key(dotted_key);
  return std::ranges::any_of(
      layers_, [&](const auto& layer) { return node_at(layer.get(), words) != nullptr; });
}

bool TomlDocument::has_list(std::string_view dotted_key) const {
  const std::vector<std::string> words = split_key(dotted_key);
  return std::ranges::any_of(layers_, [&](const auto& layer) {
    const ConfigNode* node = node_at(layer.get(), words);
    return node && node->array();
  });
}

}  // namespace twill
