// SPDX-License-Identifier: Apache-2.0
// `twill train` without a word ends by saying what its recipe has gained.
#pragma once

namespace twill::cli {

// A few steps of the default recipe in turns with dense ones, and what that means for the run. Nothing where
// everything trained dense.
void show_first_gain();

}  // namespace twill::cli
