// SPDX-License-Identifier: Apache-2.0
// Runs that an earlier build left halfway (tests/golden/old_runs) go on to the same bits: as they
// went on when that was recorded, and as a run that was never stopped.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "cli/train_golden.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

constexpr const char* kOldRuns = TWILL_SOURCE_DIR "/tests/golden/old_runs";
constexpr std::int64_t kStopped = 6;  // of 12 steps

class OldRunGolden : public testing::TestWithParam<const char*> {};

TEST_P(OldRunGolden, GoesOnToTheSameBits) {
  const std::string name = GetParam();
  const std::string old = std::string(kOldRuns) + "/" + name;
  const TempDir dir;
  std::filesystem::create_directory(dir / "runs");
  std::filesystem::copy(old, dir / ("runs/" + name), std::filesystem::copy_options::recursive);
  const ProcessResult resumed = run_twill({"train", "--resume", name}, {.folder = dir.path()});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const RunRecord end = record_of(dir / ("runs/" + name), kStopped);
  ASSERT_EQ(end.losses.size(), 6u);

  const GoldenFile file("old_runs", "cpu");
  if (const std::string reason = file.why_not(); !reason.empty()) GTEST_SKIP() << reason;
  file.check(name, end, "twill train --resume " + name, kStopped + 1);

  // The plan is the run's own: the file that `plan` named is not kept.
  std::vector<std::string> words{"train", old + "/config.toml", "run.name=whole"};
  // Of what was called auto then: its plan says so, and its config's word means another thing now.
  if (name == "fst")
    words.insert(words.end(), {"plan=" + old + "/plan.toml", "recipe.execution=fastest"});
  const ProcessResult whole = run_twill(words, {.folder = dir.path()});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(difference(end, record_of(dir / "runs/whole", kStopped), kStopped + 1), "")
      << name << " against the run that was not stopped";
}

INSTANTIATE_TEST_SUITE_P(Runs, OldRunGolden, testing::Values("dense", "fst", "mst", "s-ste"),
                         [](const auto& run) {
                           std::string name = run.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace twill
