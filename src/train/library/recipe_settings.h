// SPDX-License-Identifier: Apache-2.0
// A recipe of a program as key=value pairs, which a run reads like any others.
#pragma once

#include <string>
#include <vector>

#include "twill/recipe.h"

namespace twill {

// recipe.name="mine", …, recipe.phase=[{…}, {…}]: every value.
std::vector<std::string> recipe_settings(const Recipe& recipe);

}  // namespace twill
