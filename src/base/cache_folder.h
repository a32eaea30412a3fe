// SPDX-License-Identifier: Apache-2.0
// Where what was measured once is kept for later runs.
#pragma once

#include <filesystem>

namespace twill {

// $TWILL_CACHE, $XDG_CACHE_HOME/twill or ~/.cache/twill, the first that is set; empty when none is.
std::filesystem::path cache_folder();

}  // namespace twill
