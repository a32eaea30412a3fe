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

namespace {

// Of the products in f32 that are oneDNN's, where that is not the set we use ourselves: it is told by
// DNNL_MAX_CPU_ISA to keep to less.
std::string onednn_limit() {
#if defined(__x86_64__)
  const auto has = [isa = dnnl_get_effective_cpu_isa()](dnnl_cpu_isa_t wanted) {
    return (isa & wanted) == wanted;
  };
  const std::string_view name = has(dnnl_cpu_isa_avx512_core) ? "AVX-512"
                                : has(dnnl_cpu_isa_avx2)      ? "AVX2"
                                : has(dnnl_cpu_isa_avx)       ? "AVX"
                                                              : "SSE4";
  if (name != simd_name()) return fmt::format(" with {}", name);
#endif
  return {};
}

}  // namespace

std::string describe() {
  const dnnl_version_t* onednn = dnnl_version();
  return fmt::format("{} by Highway {}.{}.{}, oneDNN {}.{}.{}{}", simd_name(), HWY_MAJOR, HWY_MINOR,
                     HWY_PATCH, onednn->major, onednn->minor, onednn->patch, onednn_limit());
}

}  // namespace twill::cpu
