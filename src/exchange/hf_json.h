// SPDX-License-Identifier: Apache-2.0
// Typed access to the members of a JSON object, with messages that name the key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "io/json/json_value.h"

namespace twill {

// Borrows the value. null counts as absent, as Hugging Face's classes read it.
class HfObject {
 public:
  // `name` is the key it stands under; empty for the document itself.
  HfObject(const JsonValue& value, std::string name);

  // nullptr when absent or null.
  const JsonValue* find(std::string_view key) const;

  std::int64_t integer(std::string_view key, Range<std::int64_t> range) const;
  std::int64_t integer_or(std::string_view key, Range<std::int64_t> range,
                          std::int64_t otherwise) const;
  double number_or(std::string_view key, Range<double> range, double otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, const std::string& otherwise) const;

  // Where the key is present it must have this value: we compute nothing else.
  void require_boolean(std::string_view key, bool value) const;

 private:
  const JsonValue& at(std::string_view key) const;
  std::string name_of(std::string_view key) const;

  const JsonValue* value_;
  std::string name_;
};

}  // namespace twill
