// SPDX-License-Identifier: Apache-2.0
// Which layers a recipe steers.
#pragma once

#include <string>
#include <vector>

#include "nn/builder.h"

namespace twill {

// `words` are ffn, attention, all-linear (all but the head), head, or globs over names as
// "blocks.*.ffn.input".
// Layers come in the order of the model, each once. A word that matches nothing is an error.
std::vector<LinearSeam*> layers_in_scope(Builder& builder, const std::vector<std::string>& words);

// Whether a word may mean the head, before any layer exists.
bool names_head(const std::vector<std::string>& words);

bool is_in_scope(const LinearSeam& layer, const std::vector<std::string>& words);

// Whether `name` fits one of the globs.
bool matches_any(const std::vector<std::string>& globs, const std::string& name);

}  // namespace twill
