// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/metric_record.h"

namespace twill {

// Not in the header: where it is inlined behind a constructor of JsonValue, GCC 12 takes the members of the
// other alternatives for uninitialised.
MetricRecord& MetricRecord::add(std::string_view name, JsonValue value) {
  members_.emplace_back(name, std::move(value));
  return *this;
}

}  // namespace twill
