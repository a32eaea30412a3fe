// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/describe.h"

#include "backends/cpu/simd_targets.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <hwy/highway.h>

namespace twill::cpu {
// The best that we compile for and the CPU has.
std::string_view simd_name() {
  const auto usable = static_cast<std::uint64_t>(hwy::SupportedTargets() & HWY_TARGETS);
  const auto best = static_cast<std::int64_t>(usable & (~usable + 1));  // lower bit = better target
  return best == HWY_AVX3 ? "AVX-512" : hwy::TargetName(best);
}

std::string describe() {
  const dnnl_version_t* onednn = dnnl_version();
  return fmt::format("{} by Highway {}.{}.{}, oneDNN {}.{}.{}", simd_name(), HWY_MAJOR, HWY_MINOR,
                     HWY_PATCH, onednn->major, onednn->minor, onednn->patch);
}

}  // namespace twill::cpu
