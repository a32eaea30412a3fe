// SPDX-License-Identifier: Apache-2.0
// What is measured once is kept: hits, misses, and files that cannot be read.
#include <gtest/gtest.h>

#include "train/planned_run.h"

namespace twill {
namespace {

class PlanCache : public PlannedRun {
 protected:
  // The plan that a run of these settings would get; measured_: shapes that had to be measured.
  Plan plan(const std::vector<std::string>& more = {}, bool fresh = false) {
    const RunConfig config = planned_config(more);
    return plan_on(open_context(config), config, fresh);
  }
  Plan plan_on(const Context& context, const RunConfig& config, bool fresh = false) {
    return plan_on(context, config, {.fresh = fresh});
  }
  Plan plan_on(const Context& context, const RunConfig& config, PlanMaking making) {
    measured_ = 0;
    making.progress = [this](std::int64_t, std::int64_t) { ++measured_; };
    return make_plan(context, config, making);
  }
};

TEST_F(PlanCache, ASecondRunTakesTheFirstOnesPlan) {
  EXPECT_EQ(start("first"), Outcome::kDone);
  EXPECT_EQ(measured_, 2) << "two shapes";
  const std::string first = plan_text_;
  ASSERT_EQ(cached().size(), 1U);
  EXPECT_EQ(content_of(cached().front()), first);
  EXPECT_EQ(start("second"), Outcome::kDone);
  EXPECT_EQ(measured_, 0);
  EXPECT_EQ(plan_text_, first);
  EXPECT_EQ(cached().size(), 1U);
}

TEST_F(PlanCache, FreshMeasuresAndKeepsWhatItFinds) {
  plan();
  ASSERT_EQ(cached().size(), 1U);
  Plan marked = read_plan(cached().front());
  marked.device = "marked";
  write_plan(cached().front(), marked);
  EXPECT_EQ(plan().device, "marked");
  EXPECT_EQ(measured_, 0);
  EXPECT_NE(plan({}, /*fresh=*/true).device, "marked");
  EXPECT_EQ(measured_, 2);
  EXPECT_NE(plan().device, "marked");
  EXPECT_EQ(measured_, 0);
}

TEST_F(PlanCache, ADamagedFileIsMeasuredAnewAndSaysSo) {
  const std::string good = toml_of(plan());
  ASSERT_EQ(cached().size(), 1U);
  const std::string path = cached().front();
  const std::string name = std::filesystem::path(path).filename();
  const std::size_t cut = good.find("forward_below");
  ASSERT_NE(cut, std::string::npos);
  for (const std::string& content :
       {good.substr(0, cut + 16), good.substr(0, cut) + "forward_above = 0.5\n",
        std::string("\0\1\2 not a plan", 15)}) {
    dir_.write("cache/plans/" + name, content);
    const HeardWarnings warnings;
    plan();
    EXPECT_EQ(measured_, 2) << content;
    ASSERT_EQ(warnings.lines.size(), 1U) << content;
    EXPECT_NE(warnings.lines[0].find(path), std::string::npos) << warnings.lines[0];
    EXPECT_TRUE(warnings.lines[0].ends_with("; measuring again")) << warnings.lines[0];
    EXPECT_EQ(warnings.lines[0].find('\n'), std::string::npos) << warnings.lines[0];
    plan();
    EXPECT_EQ(measured_, 0) << "the new one is kept in its place";
    EXPECT_EQ(warnings.lines.size(), 1U);
  }
}

// Whole, but not what the run asks for: somebody has edited it.
TEST_F(PlanCache, AFileOfOtherShapesIsMeasuredAnew) {
  Plan other = plan();
  ASSERT_EQ(cached().size(), 1U);
  other.layer[1].inputs = 17;
  write_plan(cached().front(), other);
  plan();
  EXPECT_EQ(measured_, 2);
  other.layer.clear();
  write_plan(cached().front(), other);
  plan();
  EXPECT_EQ(measured_, 2);
}

TEST_F(PlanCache, AFolderThatCannotBeWrittenCostsOneLine) {
  dir_.write("file", "");
  const OwnCache blocked(dir_ / "file");
  const HeardWarnings warnings;
  EXPECT_EQ(plan().layer.size(), 2U);
  EXPECT_EQ(measured_, 2);
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_TRUE(warnings.lines[0].starts_with("the plan is not kept for later runs: "))
      << warnings.lines[0];
}

std::string another_cpu() { return "another instruction set"; }

// Everything that the times depend on is another plan.
TEST_F(PlanCache, AnotherMachineOrRunMisses) {
  plan();
  const RunConfig config = planned_config();
  KernelTable elsewhere = cpu_table();
  elsewhere.describe = another_cpu;
  plan_on(Context(elsewhere, 1), config);
  EXPECT_EQ(measured_, 2) << "another instruction set";
  std::size_t kept = 2;
  EXPECT_EQ(cached().size(), kept);
  for (const char* other :
       {"threads=2", "train.micro_batch=4", "train.batch_tokens=64", "model.ffn.width=32",
        "recipe.phase.0.weights.refresh=2", "train.steps=13"}) {
    plan({other});
    EXPECT_EQ(measured_, 2) << other;
    EXPECT_EQ(cached().size(), ++kept) << other;
  }
  for (const char* same : {"train.seed=5", "optimizer.lr=1e-3", "eval.every=3", "log.every=2"}) {
    plan({same});
    EXPECT_EQ(measured_, 0) << same;
  }
  EXPECT_EQ(cached().size(), kept);
}

KernelTable slowed_table() {
  KernelTable table = cpu_table();
  table.slowed_by_packed = [](const Device&) { return 0.04; };
  return table;
}

// Who measures elsewhere keeps it, who asked for it reads.
TEST_F(PlanCache, IsReadWhereSomebodyElseHasMeasuredIt) {
  const RunConfig config = planned_config();
  const Context context(cpu_table(), 1);
  int asked = 0, measured_there = 0;
  const PlanMaking apart{.elsewhere = [&](const Context& here, const RunConfig& wanted) {
    EXPECT_EQ(&here, &context);
    ++asked;
    Plan plan = make_plan(
        context, wanted,
        {.progress = [&](std::int64_t, std::int64_t) { ++measured_there; }, .fresh = true});
    plan.device = "there";
    write_plan(cached().front(), plan);
    return MeasuredElsewhere::kKept;
  }};
  EXPECT_EQ(plan_on(context, config, apart).device, "there");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(measured_, 0);
  EXPECT_EQ(measured_there, 2);
  EXPECT_EQ(plan_on(context, config, apart).device, "there");
  EXPECT_EQ(asked, 1) << "it is kept";
  PlanMaking fresh = apart;
  fresh.fresh = true;
  EXPECT_EQ(plan_on(context, config, fresh).device, "there");
  EXPECT_EQ(asked, 2);
  fresh.elsewhere = [](const Context&, const RunConfig&) { return MeasuredElsewhere::kNo; };
  EXPECT_EQ(plan_on(context, config, fresh).device, cpu_table().describe());
  EXPECT_EQ(read_plan(cached().front()).device, cpu_table().describe()) << "kept";
}

// Nothing is measured for recipe.execution=packed: its plan has what the backend expects.
TEST_F(PlanCache, APackedPlanKnowsWhatItCosts) {
  const KernelTable table = slowed_table();
  const RunConfig config = planned_config({"recipe.execution=packed"});
  EXPECT_EQ(plan_on(Context(table, 1), config).slowed_by_packed, 0.04);
  EXPECT_EQ(plan_on(Context(cpu_table(), 1), config).slowed_by_packed, 0.0);
}

// Whoever should have kept one has not: an old one is no answer to who wants a fresh one, but stays for others.
TEST_F(PlanCache, IsMeasuredHereWhereNobodyElseCan) {
  const RunConfig config = planned_config();
  const Context context(cpu_table(), 1);
  const PlanMaking failing{.fresh = true, .elsewhere = [](const Context&, const RunConfig&) {
                             return MeasuredElsewhere::kFailed;
                           }};
  Plan old = plan_on(context, config, PlanMaking());
  old.device = "old";
  write_plan(cached().front(), old);
  EXPECT_NE(plan_on(context, config, failing).device, "old");
  EXPECT_EQ(measured_, 2);
  EXPECT_EQ(plan_on(context, config, PlanMaking()).device, "old");
  EXPECT_EQ(measured_, 0);
}

// Rounded operands cannot be packed: their plan has every layer off.
TEST_F(PlanCache, AnotherPrecisionMisses) {
  plan();
  ASSERT_EQ(cached().size(), 1U);
  write_plan(cached().front(), auto_plan(true));
  const Plan rounded = plan({"train.precision=bf16"});
  EXPECT_EQ(measured_, 2);
  for (const PlanEntry& entry : rounded.layer) EXPECT_FALSE(entry.on) << entry.outputs;
  EXPECT_EQ(toml_of(plan()), toml_of(auto_plan(true))) << "nor does f32 take that of bf16";
}

}  // namespace
}  // namespace twill
