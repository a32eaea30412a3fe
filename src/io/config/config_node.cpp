// SPDX-License-Identifier: Apache-2.0
#include "io/config/config_node.h"

#include <algorithm>
#include <charconv>

#include "base/require.h"

namespace twill {
namespace {

// optimizer.group.0.lr_scale over [[optimizer.group]]: the table {0 = {...}} changes entries.
void merge_indices(ConfigArray& array, const ConfigTable& changes) {
  for (const ConfigNode& change : changes) {
    const std::int64_t index = index_of(change.key);
    const auto size = static_cast<std::int64_t>(array.size());
    require(index >= 0, "{}: '{}' is not the index of an array entry", change.origin, change.key);
    require(index <= size, "{}: index {} is out of range: the array has {} entries", change.origin,
            index, size);
    if (index == size)
      array.push_back(change);
    else
      merge(array[static_cast<std::size_t>(index)], change);
  }
}

void merge_tables(ConfigTable& lower, const ConfigTable& upper) {
  for (const ConfigNode& member : upper) {
    const auto existing = std::ranges::find(lower, member.key, &ConfigNode::key);
    if (existing == lower.end())
      lower.push_back(member);
    else
      merge(*existing, member);
  }
}

}  // namespace

const ConfigNode* find(const ConfigTable& table, std::string_view key) {
  const auto it = std::ranges::find(table, key, &ConfigNode::key);
  return it == table.end() ? nullptr : &*it;
}

std::string_view type_of(const ConfigNode& node) {
  constexpr std::string_view kNames[] = {"a boolean", "an integer", "a number", "a string",
                                         "a date",    "an array",   "a table"};
  return kNames[node.value.index()];
}

std::optional<std::string> text_of(const ConfigNode& node) {
  if (const auto* text = std::get_if<std::string>(&node.value)) return *text;
  if (node.is_table() || node.is_array() || node.raw.empty()) return std::nullopt;
  return node.raw;
}

std::int64_t index_of(std::string_view key) {
  std::int64_t index = -1;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, index);
  return error == std::errc() && stop == end && index >= 0 ? index : -1;
}

void merge(ConfigNode& lower, const ConfigNode& upper) {
  if (lower.is_table() && upper.is_table()) {
    merge_tables(lower.children, upper.children);
    lower.origin = upper.origin;
  } else if (lower.is_array() && upper.is_table()) {
    merge_indices(lower.children, upper.children);
  } else {
    const std::string* word = std::get_if<std::string>(&lower.value);
    std::string kept = word && upper.is_table() ? *word : std::string();
    lower = upper;
    lower.word = std::move(kept);
  }
}

}  // namespace twill
