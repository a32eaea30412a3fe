// SPDX-License-Identifier: Apache-2.0
// The words all 2:4 ops share.
//
// A group is four neighbours of one row, or four neighbours of one column. Magnitudes are |x|; NaN
// counts as +Inf, so that it is kept and stays visible; the bits of a NaN that an op computes are
// free, backends agree on where it is. Of equal magnitudes the lowest index wins.
// A mask is one byte per element: 1 kept, 0 not.
#pragma once

#include <cstdint>

namespace twill {

enum class GroupAxis : std::uint8_t {
  kWithinRow,     // x[r, 4 g … 4 g + 3]
  kWithinColumn,  // x[4 g … 4 g + 3, c]
};

}  // namespace twill
