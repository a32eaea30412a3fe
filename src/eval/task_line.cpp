// SPDX-License-Identifier: Apache-2.0
#include "eval/task_line.h"

#include "base/require.h"
#include "io/json/json_value.h"

namespace twill {
namespace {

const std::string& text_of(const JsonValue& value, std::string_view key) {
  const std::string* text = value.text();
  require(text != nullptr, "'{}' must be text, got {}", key, value.kind());
  require(!text->empty(), "'{}' is empty", key);
  return *text;
}

const JsonValue& member(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  require(value != nullptr, "key '{}' is missing; expected query, choices and label, or text", key);
  return *value;
}

std::vector<std::string> choices_of(const JsonValue& value) {
  const JsonArray* list = value.array();
  require(list != nullptr, "'choices' must be a list, got {}", value.kind());
  require(list->size() >= 2, "'choices' has {} entries, expected at least two", list->size());
  std::vector<std::string> choices;
  for (std::size_t i = 0; i < list->size(); ++i)
    choices.push_back(text_of((*list)[i], "choices[" + std::to_string(i) + "]"));
  return choices;
}

std::int64_t label_of(const JsonValue& value, std::size_t num_choices) {
  const std::int64_t* label = value.integer();
  require(label != nullptr, "'label' must be a whole number, got {}", value.kind());
  require(*label >= 0 && static_cast<std::uint64_t>(*label) < num_choices,
          "'label' = {}, expected 0 to {}", *label, num_choices - 1);
  return *label;
}

}  // namespace

TaskLine parse_task_line(std::string_view line) {
  const JsonValue object = parse_json_value(line);
  require(object.object() != nullptr, "expected an object, got {}", object.kind());
  TaskLine result;
  if (const JsonValue* text = object.find("text"); text != nullptr) {
    result.text = text_of(*text, "text");
    return result;
  }
  result.query = text_of(member(object, "query"), "query");
  result.choices = choices_of(member(object, "choices"));
  result.label = label_of(member(object, "label"), result.choices.size());
  return result;
}

}  // namespace twill
