// SPDX-License-Identifier: Apache-2.0
// Members of JSON objects, checked. Private to the readers of tokenizer.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_value.h"

namespace twill {

// Throws twill::Error when it is missing or no text.
std::string text_at(const JsonValue& object, std::string_view key);
// Missing and null count as `otherwise`.
std::string text_or(const JsonValue& object, std::string_view key, std::string_view otherwise);
bool flag_at(const JsonValue& object, std::string_view key, bool otherwise);
// The member "type".
std::string type_of(const JsonValue& object);
// The steps of a Sequence, under `list` ("pretokenizers"); of anything else itself; of null none.
std::vector<const JsonValue*> steps_of(const JsonValue* step, std::string_view list);

}  // namespace twill
