// SPDX-License-Identifier: Apache-2.0
#include "exchange/hf_json.h"

#include <utility>

#include "base/require.h"

namespace twill {

HfObject::HfObject(const JsonValue& value, std::string name)
    : value_(&value), name_(std::move(name)) {
  require(value.object() != nullptr, "{} is {}, expected an object",
          name_.empty() ? "the document" : name_, value.kind());
}

std::string HfObject::name_of(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

const JsonValue* HfObject::find(std::string_view key) const {
  const JsonValue* value = value_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const JsonValue& HfObject::at(std::string_view key) const {
  const JsonValue* value = find(key);
  require(value != nullptr, "no {}", name_of(key));
  return *value;
}

std::int64_t HfObject::integer(std::string_view key, Range<std::int64_t> range) const {
  const JsonValue& value = at(key);
  require(value.integer() != nullptr, "{} is {}, expected an integer", name_of(key), value.kind());
  const std::int64_t number = *value.integer();
  require(number >= range.low && number <= range.high, "{} = {}, expected {} to {}", name_of(key),
          number, range.low, range.high);
  return number;
}

std::int64_t HfObject::integer_or(std::string_view key, Range<std::int64_t> range,
                                  std::int64_t otherwise) const {
  return find(key) == nullptr ? otherwise : integer(key, range);
}

double HfObject::number_or(std::string_view key, Range<double> range, double otherwise) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return otherwise;
  const std::optional<double> number = value->number();
  require(number.has_value(), "{} is {}, expected a number", name_of(key), value->kind());
  require(*number >= range.low && *number <= range.high, "{} = {}, expected {} to {}", name_of(key),
          *number, range.low, range.high);
  return *number;
}

bool HfObject::boolean_or(std::string_view key, bool otherwise) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return otherwise;
  require(value->boolean() != nullptr, "{} is {}, expected true or false", name_of(key),
          value->kind());
  return *value->boolean();
}

std::string HfObject::text(std::string_view key) const {
  const JsonValue& value = at(key);
  require(value.text() != nullptr, "{} is {}, expected text", name_of(key), value.kind());
  return *value.text();
}

std::string HfObject::text_or(std::string_view key, const std::string& otherwise) const {
  return find(key) == nullptr ? otherwise : text(key);
}

void HfObject::require_boolean(std::string_view key, bool value) const {
  require(boolean_or(key, value) == value, "{} = {}: Twill computes {} = {} only", name_of(key),
          !value, name_of(key), value);
}

}  // namespace twill
