// SPDX-License-Identifier: Apache-2.0
// The fields that decide what is learnt as text, a line "train.seed = 1" each: what a checkpoint
// remembers of the config it was trained by. Walks the list of base/fields.h like everything else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/config/toml_config.h"

namespace twill {

// Fields that a resumed run may not change (OnResume::kFixed) and those of `also`, by their keys.
std::string fixed_lines(const FieldWalk& walk, const std::vector<std::string>& also);

// What the lines say and the fields do not, `saved` being the lines. A field that the lines do not
// know is no difference: a later build has more of them. An entry of a list is one.
std::vector<FieldDifference> differences_from(std::string_view lines, const FieldWalk& walk);

// The value behind a key; empty where no line has it.
std::optional<std::string> value_in(std::string_view lines, std::string_view key);

}  // namespace twill
