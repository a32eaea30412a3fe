// SPDX-License-Identifier: Apache-2.0
// A JSON document in memory: config.json, tokenizer.json, index files, manifests, lines of JSONL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/variant.h"

namespace twill {

class JsonValue;

using JsonArray = std::vector<JsonValue>;
// In the order of the document. A key that comes twice is refused by parse_json_value().
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;

class JsonValue {
 public:
  JsonValue() = default;  // null
  JsonValue(bool value) : value_(value) {}
  JsonValue(int value) : value_(static_cast<std::int64_t>(value)) {}
  JsonValue(std::int64_t value) : value_(value) {}
  JsonValue(double value) : value_(value) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(JsonArray value) : value_(std::move(value)) {}
  JsonValue(JsonObject value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // nullptr when the value is of another kind.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const JsonArray* array() const { return std::get_if<JsonArray>(&value_); }
  const JsonObject* object() const { return std::get_if<JsonObject>(&value_); }
  // An integer counts as a number too.
  std::optional<double> number() const;

  // "null", "a boolean", "a number", "text", "a list", "an object": for messages.
  std::string_view kind() const;

  // The member of an object; nullptr when there is none, or this is no object.
  const JsonValue* find(std::string_view key) const;

  friend bool operator==(const JsonValue&, const JsonValue&) = default;

 private:
  Variant<std::monostate, bool, std::int64_t, double, std::string, JsonArray, JsonObject> value_;
};

// Throws twill::Error ("not valid JSON at byte 12", "nested deeper than 64", "duplicate key 'a'").
// Memory stays within a small multiple of the text.
JsonValue parse_json_value(std::string_view text);

// Two spaces per level and a line end at the end, as Hugging Face writes its files. Numbers as
// json_number() writes them.
std::string to_json(const JsonValue& value);
// On one line, without a line end.
std::string to_json_line(const JsonValue& value);
// The same without a space between members: `{"step":1,"loss":5.5}`.
std::string to_compact_json(const JsonValue& value);

}  // namespace twill
