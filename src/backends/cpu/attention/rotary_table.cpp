// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention/rotary_table.h"

#include <cmath>

namespace twill::cpu {
namespace {

// Appends positions: what a table holds for position t does not depend on how many there are.
void extend(RotaryTable& table, std::int64_t num_positions) {
  const std::int64_t half = table.head_dim / 2;
  for (std::int64_t t = table.num_positions; t < num_positions; ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(table.head_dim);
      const double angle = static_cast<double>(t) * std::pow(table.theta, exponent);
      table.cosines.push_back(static_cast<float>(std::cos(angle)));
      table.sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  table.num_positions = num_positions;
}

}  // namespace

const RotaryTable& RotaryTables::get(std::int64_t num_positions, std::int64_t head_dim,
                                     double theta) {
  RotaryTable* found = nullptr;
  for (RotaryTable& table : tables_)
    if (table.head_dim == head_dim && table.theta == theta) found = &table;
  if (found == nullptr) {
    found = &tables_.emplace_back();
    found->head_dim = head_dim;
    found->theta = theta;
  }
  if (found->num_positions < num_positions) extend(*found, num_positions);
  return *found;
}

}  // namespace twill::cpu
