// SPDX-License-Identifier: Apache-2.0
// What a preset says besides the shape of its model: how it is trained where nobody says otherwise.
#pragma once

#include <string_view>

#include "train/run/run_config.h"

namespace twill {

// Learning rate, warm-up, betas, decay, micro-batch and batch of the preset; nothing for another name.
void apply_training(std::string_view preset, RunConfig& config);

// The recipe of the preset where nobody names one, in execution "fastest"; dense for another name.
RecipeConfig recipe_of_preset(std::string_view preset);

// The preset's batch is a round number of tokens: the nearest multiple of what passes through the model at once.
void fit_batch(RunConfig& config);

}  // namespace twill
