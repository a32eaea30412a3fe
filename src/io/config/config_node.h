// SPDX-License-Identifier: Apache-2.0
// A TOML value in our own words, with the place where it was written. Private to io: it keeps the
// parser in one source file, and survives merging, which the parser's own nodes do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/variant.h"

namespace twill {

struct ConfigNode;

using ConfigTable = std::vector<ConfigNode>;  // members, in the order written
using ConfigArray = std::vector<ConfigNode>;  // entries

struct ConfigNode {
  // Dates are parsed, but no field has such a type. Tables and arrays have `children`.
  struct Date {};
  struct Array {};
  struct Table {};

  Variant<bool, std::int64_t, double, std::string, Date, Array, Table> value;
  std::string origin;    // "configs/a.toml: line 2" or "command line: train.steps=3"
  std::string key = {};  // of a member of a table
  // The words of the command line, for a text that looks like a number (run.name=007).
  std::string raw = {};
  std::vector<ConfigNode> children = {};
  // Of a table that was laid over a word: the word, which may be the section's short form.
  std::string word = {};

  bool is_table() const { return std::holds_alternative<Table>(value); }
  bool is_array() const { return std::holds_alternative<Array>(value); }
  const ConfigTable* table() const { return is_table() ? &children : nullptr; }
  const ConfigArray* array() const { return is_array() ? &children : nullptr; }
};

// nullptr when the table has no such key.
const ConfigNode* find(const ConfigTable& table, std::string_view key);

// "an integer", "a string", … for messages.
std::string_view type_of(const ConfigNode& node);

// A string, or the words of the command line where they would read as a number, boolean or date.
std::optional<std::string> text_of(const ConfigNode& node);

// The index a key like "12" stands for; -1 for any other key.
std::int64_t index_of(std::string_view key);

// Tables merge key by key, a table of indices changes entries of an array, all else is replaced.
void merge(ConfigNode& lower, const ConfigNode& upper);

// The parser (toml_parse.cpp). `origin` is the file's name.
ConfigNode parse_toml(std::string_view text, std::string_view origin);

// One value of the command line. A word that is no TOML value is a string; what begins like a
// quoted string, an array or a table must be one.
ConfigNode parse_toml_value(const std::string& text, const std::string& origin);

}  // namespace twill
