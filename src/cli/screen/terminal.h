// SPDX-License-Identifier: Apache-2.0
// A line that moves: what the progress of training and of data share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace twill::cli {

// Whether standard output is a terminal that can go back to the beginning of a line.
bool on_moving_terminal();

// Standard output may be closed or full: work goes on without it, and fmt::print would throw.
void print(const std::string& text);

std::size_t terminal_width();

// Cells of eight steps each: fine enough to be seen moving.
std::string bar(double share, int cells);

// As many fields as fit; what does not fit is left out from the right.
std::string fitting(const std::vector<std::string>& fields, std::size_t width);

}  // namespace twill::cli
