// SPDX-License-Identifier: Apache-2.0
// Models by name: published shapes with their published vocabularies, and small ones for a first
// run.
#pragma once

#include <optional>
#include <string_view>

#include "base/fields.h"

namespace twill {

struct ModelConfig;

Choices preset_names();

// The config a preset lays down before files and command line; empty for an unknown name.
std::optional<ModelConfig> find_preset(std::string_view name);

}  // namespace twill
