// SPDX-License-Identifier: Apache-2.0
// `twill train` without a word: it trains by a sparse recipe where one gains on this machine, and ends
// by saying what that gained.
#pragma once

#include <string>
#include <vector>

namespace twill::cli {

// key=value pairs of the recipe that gains here; none where dense is as quick. Says which.
std::vector<std::string> first_run_overrides();

// A few steps of the recipe in turns with dense ones, and what that means for the run.
void show_gain(const std::vector<std::string>& overrides);

}  // namespace twill::cli
