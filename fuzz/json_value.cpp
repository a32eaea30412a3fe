// SPDX-License-Identifier: Apache-2.0
// Any JSON document; what was read is written and read again.
#include "io/json/json_value.h"

#include "target.h"

TWILL_FUZZ(bytes) {
  const twill::JsonValue value = twill::parse_json_value(bytes);
  const std::string text = twill::to_json(value);
  if (twill::to_json(twill::parse_json_value(text)) != text) __builtin_trap();
}
