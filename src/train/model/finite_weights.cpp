// SPDX-License-Identifier: Apache-2.0
#include "train/model/finite_weights.h"

#include <bit>
#include <cstdint>

#include "base/require.h"

namespace twill {
namespace {

// Counted by bits, which compilers turn into vectors.
std::int64_t count_nonfinite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kExponent = 0x7f80'0000u;
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i)
    found += (std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent;
  return found;
}

}  // namespace

std::string find_nonfinite(const Builder& builder) {
  for (const Parameter& parameter : builder.parameters()) {
    const View& value = parameter.value;
    const std::int64_t found = count_nonfinite(value.as<float>(), value.num_elements());
    if (found > 0)
      return fmt::format("{} ({} of {} values)", parameter.name, found, value.num_elements());
  }
  return {};
}

void require_finite_weights(const Builder& builder, const std::string& path) {
  const std::string found = find_nonfinite(builder);
  require(found.empty(),
          "{}: holds weights that are not finite: {}; every result would be NaN; take an earlier "
          "checkpoint, or another file",
          path, found);
}

}  // namespace twill
