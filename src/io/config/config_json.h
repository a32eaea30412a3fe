// SPDX-License-Identifier: Apache-2.0
// A config struct as JSON, for files that are read by others: what read() takes is TOML.
#pragma once

#include "io/config/toml_config.h"
#include "io/json/json_value.h"

namespace twill {

JsonValue json_of_fields(const FieldWalk& walk);

// Sections become objects, lists of tables become lists of objects, in the order of declaration.
template <class Config>
JsonValue config_json(Config config) {
  return json_of_fields([&](FieldVisitor& visit) { config.fields(visit); });
}

}  // namespace twill
