// SPDX-License-Identifier: Apache-2.0
#include "exchange/sparsity_patterns.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace twill {
namespace {

// 0 or 1 per element.
using Mask = std::vector<std::uint8_t>;

struct MaskView {
  const std::uint8_t* data;
  std::int64_t rows;
  std::int64_t columns;
  const std::uint8_t* row(std::int64_t r) const { return data + r * columns; }
};

Mask transposed(const MaskView& mask) {
  Mask out(static_cast<std::size_t>(mask.rows * mask.columns));
  constexpr std::int64_t kTile = 64;  // two tiles fit the first cache
  for (std::int64_t r0 = 0; r0 < mask.rows; r0 += kTile)
    for (std::int64_t c0 = 0; c0 < mask.columns; c0 += kTile)
      for (std::int64_t r = r0; r < std::min(r0 + kTile, mask.rows); ++r)
        for (std::int64_t c = c0; c < std::min(c0 + kTile, mask.columns); ++c)
          out[static_cast<std::size_t>(c * mask.rows + r)] = mask.row(r)[c];
  return out;
}

// At most `most` non-zeros in every group of `group` neighbours of a row.
bool holds_in_groups(const MaskView& mask, std::int64_t group, int most) {
  if (mask.columns % group != 0) return false;
  for (std::int64_t r = 0; r < mask.rows; ++r) {
    for (std::int64_t c = 0; c < mask.columns; c += group) {
      int count = 0;
      for (std::int64_t i = c; i < c + group; ++i) count += mask.row(r)[i];
      if (count > most) return false;
    }
  }
  return true;
}

// At most four columns in use in every strip and group.
bool holds_in_strips(const MaskView& mask, const StripPattern& pattern) {
  constexpr int kColumnsInUse = 4;
  if (mask.rows % pattern.strip != 0) return false;
  for (std::int64_t r = 0; r < mask.rows; r += pattern.strip) {
    for (std::int64_t c = 0; c < mask.columns; c += pattern.group) {
      std::uint32_t used = 0;
      for (std::int64_t i = r; i < r + pattern.strip; ++i)
        for (std::int64_t j = 0; j < pattern.group; ++j)
          used |= std::uint32_t{mask.row(i)[c + j]} << j;
      if (std::popcount(used) > kColumnsInUse) return false;
    }
  }
  return true;
}

AxisPatterns patterns_along_rows(const MaskView& mask) {
  AxisPatterns found;
  found.two_of_four = holds_in_groups(mask, 4, 2);
  if (!found.two_of_four) return found;  // the others are stricter
  found.one_of_four = holds_in_groups(mask, 4, 1);
  for (const std::int64_t group : {8, 16}) {
    if (!holds_in_groups(mask, group, 2)) continue;
    for (const std::int64_t strip : {128, 64, 32, 16}) {
      if (!holds_in_strips(mask, {strip, group})) continue;
      found.strips.push_back({strip, group});
      break;
    }
  }
  return found;
}

std::string_view strongest(const AxisPatterns& patterns) {
  if (patterns.one_of_four) return "1:4";
  return patterns.two_of_four ? "2:4" : "";
}

void append(std::string& text, const std::string& part) {
  text += (text.empty() ? "" : ", ") + part;
}

}  // namespace

double MatrixPatterns::density() const {
  const std::int64_t count = rows * columns;
  return count == 0 ? 0.0 : static_cast<double>(nonzeros) / static_cast<double>(count);
}

MatrixPatterns find_patterns(const float* values, std::int64_t rows, std::int64_t columns) {
  MatrixPatterns found{.rows = rows, .columns = columns, .along_rows = {}, .along_columns = {}};
  // Nothing holds in no groups; and a file may claim 2^60 rows of no columns, which take no bytes.
  if (rows == 0 || columns == 0) return found;
  Mask mask(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < mask.size(); ++i) {
    mask[i] = values[i] != 0.0f;
    found.nonzeros += mask[i];
    found.non_finite += !std::isfinite(values[i]);
  }
  const MaskView view{mask.data(), rows, columns};
  found.along_rows = patterns_along_rows(view);
  const Mask other = transposed(view);
  found.along_columns = patterns_along_rows({other.data(), columns, rows});
  return found;
}

std::string describe(const MatrixPatterns& found, InputAxis input) {
  const std::int64_t zeros = found.rows * found.columns - found.nonzeros;
  if (found.rows == 0 || found.columns == 0) return "empty";
  if (found.nonzeros == 0) return "all zero";
  if (zeros == 0) return "dense";
  // A row runs along the columns' axis, which is the input of an (out, in) matrix.
  const std::string row_axis = input == InputAxis::kUnknown   ? "rows"
                               : input == InputAxis::kColumns ? "in"
                                                              : "out";
  const std::string column_axis = input == InputAxis::kUnknown   ? "columns"
                                  : input == InputAxis::kColumns ? "out"
                                                                 : "in";
  const std::string_view by_row = strongest(found.along_rows),
                         by_column = strongest(found.along_columns);
  std::string text;
  if (!by_row.empty() && by_row == by_column) {
    append(text, fmt::format("{} along {} and {}", by_row, row_axis, column_axis));
  } else {
    if (!by_row.empty()) append(text, fmt::format("{} along {}", by_row, row_axis));
    if (!by_column.empty()) append(text, fmt::format("{} along {}", by_column, column_axis));
  }
  if (found.transposable()) text += " (transposable)";
  for (const StripPattern& strip : found.along_rows.strips)
    append(text, fmt::format("{}:2:{} along {}", strip.strip, strip.group, row_axis));
  for (const StripPattern& strip : found.along_columns.strips)
    append(text, fmt::format("{}:2:{} along {}", strip.strip, strip.group, column_axis));
  if (!text.empty()) return text;
  // A few zeros are what rounding leaves; they are no pattern.
  constexpr double kHardly = 0.01;
  if (1.0 - found.density() < kHardly) return fmt::format("dense ({} zeros)", zeros);
  return "unstructured";
}

}  // namespace twill
