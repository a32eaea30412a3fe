// SPDX-License-Identifier: Apache-2.0
// Where a sum's order is part of the contract: runs of elements in index order, then the runs.
#pragma once

#include <cstdint>

namespace twill::reference {

inline constexpr std::int64_t kRun = 256;  // elements

}  // namespace twill::reference
