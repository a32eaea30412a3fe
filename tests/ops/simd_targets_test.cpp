// SPDX-License-Identifier: Apache-2.0
// The cpu backend on every instruction set that this CPU has, not only on the best one.
#include "backends/cpu/simd_targets.h"

#include <hwy/highway.h>

#include "ops/checks.h"

namespace twill {
namespace {

// Run-time dispatch takes `target` in this scope.
class ForcedTarget {
 public:
  explicit ForcedTarget(std::int64_t target) { hwy::GetChosenTarget().Update(target); }
  ~ForcedTarget() { hwy::GetChosenTarget().DeInit(); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

class SimdTarget : public testing::TestWithParam<std::int64_t> {
 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

TEST_P(SimdTarget, PassesEveryCheck) {
  const ForcedTarget forced(GetParam());
  for (const auto check : kAllChecks) EXPECT_TRUE(check({.table = &cpu_table(), .offset = 1}));
}

std::string target_name(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

INSTANTIATE_TEST_SUITE_P(Targets, SimdTarget,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), target_name);

}  // namespace
}  // namespace twill
