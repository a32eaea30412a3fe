// SPDX-License-Identifier: Apache-2.0
// The algorithms of matrix products that a stopwatch chose, as text: with them a resumed run
// computes the bits that it would have without the interruption. Knows no CUDA.
#pragma once

#include <string>
#include <string_view>

#include "ops/kernel_table.h"

namespace twill::cuda {

// Some dozens of lines of ASCII; empty when nothing was chosen by a stopwatch. To be asked for when
// the run has done a step, and whenever it is saved.
std::string product_choices(Queue& queue);
// Before the first product. What is loaded wins over the machine's file and over a search. Text of
// another GPU or library, or damaged, is one warning and has no effect; empty text has none.
void load_product_choices(std::string_view text, Queue& queue);

}  // namespace twill::cuda
