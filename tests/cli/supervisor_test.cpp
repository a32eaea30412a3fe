// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/supervisor.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "train/planned_run.h"

namespace twill::cli {
namespace {

using Variables = std::map<std::string, std::string>;

std::string launcher_with(const Variables& variables) {
  return launcher_name([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, IsKnownByWhatItSets) {
  EXPECT_EQ(launcher_with({}), "");
  EXPECT_EQ(launcher_with({{"OMPI_COMM_WORLD_SIZE", "2"}}), "mpirun");
  EXPECT_EQ(launcher_with({{"PMI_SIZE", "2"}}), "mpiexec");
  EXPECT_EQ(launcher_with({{"PMI_RANK", "0"}}), "mpiexec");
  EXPECT_EQ(launcher_with({{"PMIX_RANK", "0"}}), "mpiexec");
  EXPECT_EQ(launcher_with({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "2"}}), "srun");
  EXPECT_EQ(launcher_with({{"TORCHELASTIC_RUN_ID", "none"}, {"WORLD_SIZE", "1"}}), "torchrun");
  EXPECT_NE(launcher_with({{"WORLD_SIZE", "2"}}), "");
}

TEST(Launcher, IsNotSeenWhereThereIsOneProcess) {
  EXPECT_EQ(launcher_with({{"SLURM_NTASKS", "8"}}), "") << "a shell of salloc";
  EXPECT_EQ(launcher_with({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "1"}}), "");
  EXPECT_EQ(launcher_with({{"WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(launcher_with({{"OMPI_COMM_WORLD_SIZE", ""}}), "");
}

// On a device that packed products slow down, and there alone.
TEST(Supervisor, HasAPlanMeasuredApartWherePackedProductsSlow) {
  const TempDir dir;
  const OwnCache cache(dir / "cache");
  const RunConfig config = planned_config();
  KernelTable slowed = cpu_table();
  slowed.slowed_by_packed = [](const Device&) { return 0.04; };
  bool works = true;
  int asked = 0;
  const Supervisor supervisor("", [&](const RunConfig& wanted) {
    EXPECT_EQ(&wanted, &config);
    ++asked;
    return works;
  });
  EXPECT_EQ(supervisor.measure_plan(Context(cpu_table(), 1), config), MeasuredElsewhere::kNo);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(supervisor.measure_plan(Context(slowed, 1), config), MeasuredElsewhere::kKept);
  works = false;
  EXPECT_EQ(supervisor.measure_plan(Context(slowed, 1), config), MeasuredElsewhere::kFailed);
  EXPECT_EQ(asked, 2);
  slowed.times_packed = nullptr;
  slowed.packed_bytes = nullptr;
  EXPECT_EQ(supervisor.measure_plan(Context(slowed, 1), config), MeasuredElsewhere::kNo)
      << "nothing would be launched";
}

// A rank that starts a program would start it once per rank, with the launcher's variables around it.
TEST(Supervisor, HasNothingMeasuredApartUnderALauncher) {
  const TempDir dir;
  const OwnCache cache(dir / "cache");
  const RunConfig config = planned_config();
  KernelTable slowed = cpu_table();
  slowed.slowed_by_packed = [](const Device&) { return 0.04; };
  const HeardWarnings heard;
  const Supervisor supervisor("torchrun", [](const RunConfig&) {
    ADD_FAILURE() << "another process was asked";
    return true;
  });
  EXPECT_EQ(supervisor.measure_plan(Context(cpu_table(), 1), config), MeasuredElsewhere::kNo);
  EXPECT_TRUE(heard.lines.empty()) << "it costs nothing";
  EXPECT_EQ(supervisor.measure_plan(Context(slowed, 1), config), MeasuredElsewhere::kFailed);
  ASSERT_EQ(heard.lines.size(), 1u);
  expect_contains(heard.lines[0], "started by torchrun: the plan is measured in this process");
}

// 100 steps of 2 s and more are left, of which packed products take 5 %.
struct Steps {
  RunConfig config = planned_config({"run.restart_saves=9.9"});
  Plan plan;
  RunStanding standing{.config = config, .plan = plan, .steps_left = 100};

  Steps() { plan.slowed_by_packed = 0.05; }
  bool after(Supervisor& supervisor, double seconds, bool packed, bool packs_from_here) {
    standing.last_step_seconds = seconds;
    standing.last_step_packed = packed;
    standing.packs_from_here = packs_from_here;
    return supervisor.hands_over(standing);
  }
};

TEST(Supervisor, HandsOverBehindTheLastPackedStepAlone) {
  Steps steps;
  Supervisor supervisor("", {});
  EXPECT_FALSE(steps.after(supervisor, 0.0, false, false)) << "before the first step";
  EXPECT_FALSE(steps.after(supervisor, 5.0, false, false)) << "nothing was packed";
  EXPECT_FALSE(steps.after(supervisor, 2.0, true, true)) << "packed steps are to come";
  EXPECT_TRUE(steps.after(supervisor, 4.0, false, false));
  EXPECT_DOUBLE_EQ(supervisor.saved_seconds(), 10.0) << "by the quickest step";
  steps.standing.steps_left = 99;
  EXPECT_FALSE(steps.after(supervisor, 4.0, false, false)) << "9.9 s are not more than 9.9 s";
  steps.standing.steps_left = 100;
  steps.plan.slowed_by_packed = 0.0;
  EXPECT_FALSE(steps.after(supervisor, 4.0, false, false)) << "nothing is slowed";
}

TEST(Supervisor, StaysUnderALauncherAndSaysSoOnce) {
  Steps steps;
  Supervisor supervisor("srun", {});
  const HeardWarnings heard;
  EXPECT_FALSE(steps.after(supervisor, 2.0, true, true));
  EXPECT_TRUE(heard.lines.empty());
  for (int step = 0; step < 3; ++step) EXPECT_FALSE(steps.after(supervisor, 2.0, false, false));
  ASSERT_EQ(heard.lines.size(), 1u);
  EXPECT_EQ(heard.lines[0],
            "started by srun: the run stays in this process, though packed products leave it at "
            "lower clocks, which costs 10 s more");
}

}  // namespace
}  // namespace twill::cli
