// SPDX-License-Identifier: Apache-2.0
#include "exchange/placement.h"

#include <algorithm>

#include "base/check.h"

namespace twill {
namespace {

// The columns of a row of the parameter: one for vectors, which are columns of height n.
std::int64_t width_of(const Placement& placement) {
  if (placement.shape.rank() == 1) return 1;
  return placement.shape[placement.transposed ? 0 : 1];
}

// Where row `row` of the file belongs: partners 2i, 2i + 1 of a head go to i, i + D/2.
std::int64_t our_row(const Placement& placement, std::int64_t row) {
  const std::int64_t head = placement.pair_rows_of;
  if (head == 0) return row;
  const std::int64_t inside = row % head;
  return row - inside + inside / 2 + inside % 2 * (head / 2);
}

// Calls visit(element of the file, element of the parameter) for all elements.
template <class Visit>
void for_each_pair(const Placement& placement, const Visit& visit) {
  const std::int64_t rows = placement.rows(), width = width_of(placement);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t ours = (placement.first_row + our_row(placement, row)) * width;
    for (std::int64_t column = 0; column < width; ++column)
      visit(placement.transposed ? column * rows + row : row * width + column, ours + column);
  }
}

bool is_plain(const Placement& placement) {
  return !placement.transposed && placement.pair_rows_of == 0;
}

}  // namespace

void place(const float* values, const Placement& placement, View parameter) {
  TWILL_CHECK(
      (placement.first_row + placement.rows()) * width_of(placement) <= parameter.num_elements(),
      "the tensor lies inside the parameter");
  float* ours = parameter.as<float>();
  for_each_pair(placement,
                [&](std::int64_t theirs, std::int64_t at) { ours[at] = values[theirs]; });
}

ConstView take(const Placement& placement, ConstView parameter, float* scratch) {
  const std::int64_t count = placement.shape.num_elements();
  if (placement.parameter.empty()) {
    std::fill_n(scratch, count, 0.0f);
    return view_of(static_cast<const float*>(scratch), placement.shape);
  }
  if (is_plain(placement))
    return parameter.slice(placement.first_row * width_of(placement), count)
        .reshaped(placement.shape);
  const float* ours = parameter.as<float>();
  for_each_pair(placement,
                [&](std::int64_t theirs, std::int64_t at) { scratch[theirs] = ours[at]; });
  return view_of(static_cast<const float*>(scratch), placement.shape);
}

Parameter& parameter_named(Builder& builder, const std::string& name) {
  const auto found = std::ranges::find(builder.parameters(), name, &Parameter::name);
  TWILL_CHECK(found != builder.parameters().end(), "the model has every parameter of its rules");
  return *found;
}

}  // namespace twill
