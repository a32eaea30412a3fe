// SPDX-License-Identifier: Apache-2.0
// The only file that sees toml++.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "base/require.h"
#include "io/config/config_node.h"
#include "io/config/field_list.h"
#include "io/config/toml_limits.h"

namespace twill {
namespace {

ConfigNode convert(const toml::node& node, std::string_view file);

std::string place(std::string_view file, const toml::source_region& source) {
  return fmt::format("{}: line {}", file, source.begin.line);
}

ConfigTable convert_table(const toml::table& table, std::string_view file) {
  // The parser sorts keys by name; errors shall name the first one in the file.
  std::vector<std::pair<const toml::key*, const toml::node*>> sorted;
  for (auto&& [key, node] : table) sorted.emplace_back(&key, &node);
  std::ranges::sort(sorted, {}, [](const auto& member) { return member.first->source().begin; });

  ConfigTable members;
  members.reserve(sorted.size());
  for (const auto& [key, node] : sorted) {
    ConfigNode& member = members.emplace_back(convert(*node, file));
    member.key = key->str();
    // A dotted key makes tables of which the parser knows no line; the key always has one.
    member.origin = place(file, key->source());
  }
  return members;
}

ConfigNode convert(const toml::node& node, std::string_view file) {
  ConfigNode converted{.value = ConfigNode::Date{}, .origin = place(file, node.source())};
  if (const toml::table* table = node.as_table()) {
    converted.value = ConfigNode::Table{};
    converted.children = convert_table(*table, file);
  }
  if (const toml::array* array = node.as_array()) {
    converted.value = ConfigNode::Array{};
    for (const toml::node& entry : *array) converted.children.push_back(convert(entry, file));
  }
  if (const auto* text = node.as_string()) converted.value = text->get();
  if (const auto* integer = node.as_integer()) converted.value = integer->get();
  if (const auto* real = node.as_floating_point()) converted.value = real->get();
  if (const auto* boolean = node.as_boolean()) converted.value = boolean->get();
  return converted;
}

void set_origin(ConfigNode& node, const std::string& origin) {
  node.origin = origin;
  for (ConfigNode& child : node.children) set_origin(child, origin);
}

bool must_be_toml(const std::string& text) {
  return !text.empty() && std::string_view("\"'[{").find(text[0]) != std::string_view::npos;
}

// A string that TOML cannot hold could not be saved in config.toml.
void require_utf8(const std::string& text, const std::string& origin) {
  try {
    std::ignore = toml::parse("value = " + toml_text(text));
  } catch (const toml::parse_error&) {
    fail("{}: the value is not UTF-8 text", origin);
  }
}

}  // namespace

ConfigNode parse_toml(std::string_view text, std::string_view origin) {
  require_toml_limits(text, origin);
  try {
    const toml::table table = toml::parse(text, origin);
    return convert(table, origin);
  } catch (const toml::parse_error& error) {
    fail("{}: {}", place(origin, error.source()), error.description());
  }
}

ConfigNode parse_toml_value(const std::string& text, const std::string& origin) {
  // Only lists, tables and further lines can nest or have keys; a path is full of dots.
  if (text.find_first_of("\n{[") != std::string::npos) require_toml_limits(text, origin);
  ConfigNode node{.value = text, .origin = origin};
  try {
    const toml::table table = toml::parse("value = " + text);
    // A line end in the text would smuggle in further keys: such a text is a string.
    if (table.size() == 1) node = convert(*table.get("value"), origin);
  } catch (const toml::parse_error& error) {
    require(!must_be_toml(text), "{}: {}", origin, error.description());
    require_utf8(text, origin);
  }
  set_origin(node, origin);
  node.raw = text;
  return node;
}

}  // namespace twill
