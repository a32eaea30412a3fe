// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/files/json_fields.h"

#include "base/require.h"

namespace twill {

std::string text_at(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  require(value != nullptr && value->text() != nullptr, "\"{}\" must be text, got {}", key,
          value == nullptr ? "nothing" : value->kind());
  return *value->text();
}

std::string text_or(const JsonValue& object, std::string_view key, std::string_view otherwise) {
  const JsonValue* value = object.find(key);
  if (value == nullptr || value->is_null()) return std::string(otherwise);
  return text_at(object, key);
}

bool flag_at(const JsonValue& object, std::string_view key, bool otherwise) {
  const JsonValue* value = object.find(key);
  if (value == nullptr || value->is_null()) return otherwise;
  require(value->boolean() != nullptr, "\"{}\" must be true or false, got {}", key, value->kind());
  return *value->boolean();
}

std::string type_of(const JsonValue& object) { return text_at(object, "type"); }

std::vector<const JsonValue*> steps_of(const JsonValue* step, std::string_view list) {
  if (step == nullptr || step->is_null()) return {};
  if (type_of(*step) != "Sequence") return {step};
  const JsonValue* steps = step->find(list);
  require(steps != nullptr && steps->array() != nullptr, "a Sequence needs a list \"{}\"", list);
  std::vector<const JsonValue*> all;
  for (const JsonValue& inner : *steps->array())
    for (const JsonValue* one : steps_of(&inner, list)) all.push_back(one);
  return all;
}

}  // namespace twill
