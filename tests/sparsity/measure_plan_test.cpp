// SPDX-License-Identifier: Apache-2.0
// What a measured plan compares, by a clock that only the kernels move.
#include "sparsity/plan/measure_plan.h"

#include <gtest/gtest.h>

#include "ops/numbers/column_sum.h"
#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/times_packed.h"
#include "ops/selection/mvue24.h"
#include "papers/recipe_run.h"
#include "sparsity/plan/what_runs.h"
#include "support/fake_device.h"
#include "support/test_clock.h"

namespace twill {
namespace {

// Every dense product takes 2 ms, a packed one and the sums of a bias what `Costs` says.
struct Costs {
  double packed = 6e-3;
  double with_activation = 6e-3;
  double with_residual = 6e-3;
  double packed_wgrad = 6e-3;
  double bias_sums = 0.0;
};
Costs costs;
constexpr double kDense = 2e-3;

void take_time_of(const TimesPackedArgs& args, const Device&, Queue&) {
  test_clock += args.addend                            ? costs.with_residual
                : args.epilogue != GemmEpilogue::kNone ? costs.with_activation
                                                       : costs.packed;
}

KernelTable timed(const KernelTable& backend) {
  KernelTable table = by_test_clock(backend);
  table.gemm = [](const GemmArgs&, const Device&, Queue&) { test_clock += kDense; };
  table.gemm_fuses = [](const GemmArgs&) { return true; };
  table.times_packed = take_time_of;
  table.packed_times = [](const PackedTimesArgs&, const Device&, Queue&) {
    test_clock += costs.packed_wgrad;
  };
  table.column_sum = [](const ColumnSumArgs&, const Device&, Queue&) {
    test_clock += costs.bias_sums;
  };
  return table;
}

// A device that packs: what is packed nobody reads.
KernelTable timed_device() {
  KernelTable table = timed(fake_device_table());
  table.packed_bytes = [](const PackedShape&, const Device&) { return std::int64_t{64}; };
  table.pack_matrix = [](const PackMatrixArgs&, const Device&, Queue&) {};
  return table;
}

Plan plan_on(const KernelTable& table, const std::string& recipe, const Settings& more,
             const Costs& these, bool is_alone = false) {
  costs = these;
  TinyTrainer like(busy(recipe) + more + Settings{"recipe.execution=masked"});
  RecipeConfig wanted = like.config.recipe;
  wanted.execution = Execution::kFastest;
  const Context context(table, 1);
  Plan plan = measure_plan(context, wanted, like.trainer.builder().linear_seams(),
                           {.tokens = 64, .steps = 24, .is_alone = is_alone});
  EXPECT_EQ(plan.layer.size(), 2U);
  plan.layer.resize(2);
  return plan;
}
Plan plan_for(const std::string& recipe, const Settings& more, const Costs& these) {
  static const KernelTable table = timed(cpu_table());
  return plan_on(table, recipe, more, these);
}

// Two machines: on one packed products win, on the other they lose. As written both train the same matrices.
TEST(MeasuredPlan, NeverDecidesTheMethodOfANamedRecipe) {
  for (const double packed : {1e-4, 1e-1}) {
    static double seconds;
    seconds = packed;
    static const KernelTable table = [] {
      KernelTable made = by_test_clock(cpu_table());
      made.gemm = [](const GemmArgs&, const Device&, Queue&) { test_clock += 1e-3; };
      made.times_packed = [](const TimesPackedArgs&, const Device&, Queue&) {
        test_clock += seconds;
      };
      made.packed_times = [](const PackedTimesArgs&, const Device&, Queue&) {
        test_clock += seconds;
      };
      made.mvue24 = [](const Mvue24Args&, const Device&, Queue&) { test_clock += 2e-3; };
      return made;
    }();
    const Context timed(table, 1);
    TinyTrainer like(busy("fst") + Settings{"recipe.execution=masked"});
    RecipeConfig recipe = like.config.recipe;
    recipe.execution = Execution::kAuto;
    const Plan plan = measure_plan(timed, recipe, like.trainer.builder().linear_seams(),
                                   {.tokens = 64, .steps = 24});
    ASSERT_EQ(plan.layer.size(), 2U);
    EXPECT_EQ(plan.execution, Execution::kAuto);
    for (const PlanEntry& entry : plan.layer) {
      EXPECT_TRUE(entry.on);
      EXPECT_EQ(entry.packs_forward(), packed < 1e-3);
      EXPECT_EQ(entry.packs_wgrad(), packed < 1e-3);
      EXPECT_GT(entry.sampling, 0.0);
    }
    const std::vector<PhaseRuns> runs =
        what_runs(recipe, plan, like.trainer.builder().linear_seams());
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].sparse, runs[0].matrices);
    EXPECT_EQ(runs[0].sampled, runs[0].matrices);
    EXPECT_EQ(runs[0].packed, packed < 1e-3 ? runs[0].matrices : 0);
  }
}

TEST(MeasuredPlan, TimesAnActivationWithTheProductThatItComesWith) {
  const Plan plan = plan_for("fst", {"model.ffn.activation=gelu-tanh"}, {.with_activation = 1e-3});
  const PlanEntry &input = plan.layer[0], &output = plan.layer[1];
  ASSERT_GT(input.outputs, input.inputs);
  EXPECT_TRUE(input.packs_forward());
  EXPECT_FALSE(input.packs_dgrad());
  EXPECT_FALSE(output.packs_forward());
  EXPECT_TRUE(output.packs_dgrad()) << "with the activation's gradient";
  EXPECT_EQ(input.wgrad_below, 0.0);
}

// Its gradient is a kernel of its own.
TEST(MeasuredPlan, TimesAGatedActivationWithForwardOnly) {
  const Plan plan = plan_for("fst", {"model.ffn.activation=swiglu"}, {.with_activation = 1e-3});
  EXPECT_TRUE(plan.layer[0].packs_forward());
  EXPECT_FALSE(plan.layer[0].packs_dgrad());
  EXPECT_FALSE(plan.layer[1].packs_forward());
  EXPECT_FALSE(plan.layer[1].packs_dgrad());
}

TEST(MeasuredPlan, TimesAResidualWithTheProductThatAddsIt) {
  const Costs quick{.packed = 1e-3, .with_activation = 1e-3, .with_residual = 6e-3};
  const Plan plan = plan_for("fst", {"model.dropout=0"}, quick);
  EXPECT_TRUE(plan.layer[0].packs_forward());
  EXPECT_FALSE(plan.layer[1].packs_forward());
  EXPECT_TRUE(plan.layer[1].packs_dgrad());
}

// A packed sample sums up a bias's gradient on its way; nobody else needs to be compared with that.
TEST(MeasuredPlan, TimesABiasWhereASampleSumsItUp) {
  const Costs slow_sums{.bias_sums = 20e-3};
  const Plan sampled = plan_for("fst", {}, slow_sums);
  EXPECT_NEAR(sampled.layer[0].dense.wgrad, kDense + 20e-3, 1e-9);
  EXPECT_NEAR(sampled.layer[1].dense.wgrad, kDense, 1e-9) << "the norm behind it does that";
  const Plan whole = plan_for("sr-ste", {}, slow_sums);
  EXPECT_NEAR(whole.layer[0].dense.wgrad, kDense, 1e-9);
}

// Where a sample comes with the gradient of an activation, so does the dense product that it is compared
// with. Memory of a device ends whoever touches it from here.
TEST(MeasuredPlan, TimesEveryActivationOnADevice) {
  static const KernelTable device = timed_device();
  for (const char* activation : {"gelu", "gelu-tanh", "relu2", "swiglu", "geglu"}) {
    const Plan plan = plan_on(device, "fst", {std::string("model.ffn.activation=") + activation},
                              {.packed_wgrad = 1e-3});
    for (const PlanEntry& entry : plan.layer) {
      EXPECT_NEAR(entry.dense.sum(), 3 * kDense, 1e-9) << activation;
      EXPECT_NEAR(entry.packed.wgrad, 1e-3, 1e-9) << activation;
    }
  }
}

// Packed products save 3 of the 12 ms of an FFN with 2,048 weights. Attention has 1,024 and the head 4,096
// more: all products take 42 ms, and what costs them less than 7.1 % is on.
TEST(MeasuredPlan, IsOffWherePackingSlowsTheRestByMore) {
  static double share = 0.0;
  static const KernelTable device = [] {
    KernelTable table = timed_device();
    table.slowed_by_packed = [](const Device&) { return share; };
    return table;
  }();
  const Costs quick{.packed = 1e-3, .with_activation = 1e-3, .with_residual = 2e-3};
  const auto on_with = [&](double slowed) {
    share = slowed;
    const Plan plan =
        plan_on(device, "fst", {"model.dropout=0", "recipe.phase.0.wgrad.estimator=dense"}, quick);
    EXPECT_EQ(plan.layer[0].on, plan.layer[1].on);
    EXPECT_EQ(plan.slowed_by_packed, slowed);
    EXPECT_EQ(plan.slows_too_much, !plan.is_packed());
    return plan.layer[0].on && plan.layer[0].packs_forward();
  };
  EXPECT_TRUE(on_with(0.0));
  EXPECT_TRUE(on_with(0.07));
  EXPECT_FALSE(on_with(0.073));
}

// Packed weight gradients slow the rest as much as packed weights do.
TEST(MeasuredPlan, IsOffWhereWeightGradientsAloneSlowTheRest) {
  static const KernelTable device = [] {
    KernelTable table = timed_device();
    table.slowed_by_packed = [](const Device&) { return 0.5; };
    return table;
  }();
  const double more = 1.1 * kDense;
  const Costs only_sampled{
      .packed = more, .with_activation = more, .with_residual = more, .packed_wgrad = 0.5 * kDense};
  const Plan plan = plan_on(device, "fst", {"model.dropout=0"}, only_sampled);
  EXPECT_TRUE(plan.slows_too_much);
  EXPECT_FALSE(plan.is_packed());
}

// Who does nothing else measures what packed products cost the dense ones, here 6.25 %, whatever the backend
// expects.
TEST(MeasuredPlan, MeasuresWhatPackingTakesFromTheRest) {
  static bool is_slowed = false;
  static const KernelTable device = [] {
    KernelTable table = timed_device();
    table.slowed_by_packed = [](const Device&) { return 0.5; };
    table.gemm = [](const GemmArgs&, const Device&, Queue&) {
      test_clock += is_slowed ? 1.0625 * kDense : kDense;
    };
    table.times_packed = [](const TimesPackedArgs&, const Device&, Queue&) {
      is_slowed = true;
      test_clock += 0.25 * kDense;
    };
    return table;
  }();
  const Plan plan = plan_on(device, "fst", {"model.dropout=0"}, {}, /*is_alone=*/true);
  EXPECT_NEAR(plan.slowed_by_packed, 0.0625, 1e-9);
  EXPECT_TRUE(plan.is_packed()) << "0.5 would have been too much";
  EXPECT_EQ(plan_on(device, "fst", {"model.dropout=0"}, {}).slowed_by_packed, 0.5);
}

// In turns: both sides of a pair have their own time, and on a device the quicker one is taken.
TEST(MeasuredPlan, AsksForLessOnADevice) {
  const double little_less = 0.98 * kDense;
  const Costs close{.packed = little_less,
                    .with_activation = little_less,
                    .with_residual = 1.01 * kDense,
                    .packed_wgrad = little_less};
  static const KernelTable device = timed_device();
  const Plan there = plan_on(device, "fst", {"model.dropout=0"}, close);
  EXPECT_NEAR(there.layer[0].dense.dgrad, kDense, 1e-9);
  EXPECT_NEAR(there.layer[0].packed.dgrad, little_less, 1e-9);
  EXPECT_GT(there.layer[0].dgrad_below, 0.0);
  EXPECT_GT(there.layer[0].wgrad_below, 0.0);
  EXPECT_EQ(there.layer[1].forward_below, 0.0) << "with the residual it is slower";
  const Plan here = plan_for("fst", {}, close);
  EXPECT_EQ(here.layer[0].dgrad_below, 0.0);
}

}  // namespace
}  // namespace twill
