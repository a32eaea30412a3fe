// SPDX-License-Identifier: Apache-2.0
// What a measured plan compares, on a backend whose times are not the machine's.
#include "sparsity/measure_plan.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "ops/gemm.h"
#include "ops/kernel_table.h"
#include "ops/packed_times.h"
#include "ops/times_packed.h"
#include "papers/recipe_run.h"

namespace twill {
namespace {

using std::chrono::milliseconds;

// Every dense product takes 2 ms; a packed one 6, but nothing where an activation or its gradient comes
// with it. A packed weight gradient takes 6.
KernelTable fused_is_quick() {
  KernelTable table = cpu_table();
  table.gemm = [](const GemmArgs&, const Device&, Queue&) {
    std::this_thread::sleep_for(milliseconds(2));
  };
  table.plain_gemm = table.gemm;
  table.gemm_fuses = [](const GemmArgs&) { return true; };
  table.times_packed = [](const TimesPackedArgs& args, const Device&, Queue&) {
    if (args.epilogue == GemmEpilogue::kNone) std::this_thread::sleep_for(milliseconds(6));
  };
  table.packed_times = [](const PackedTimesArgs&, const Device&, Queue&) {
    std::this_thread::sleep_for(milliseconds(6));
  };
  return table;
}

Plan plan_for(const Settings& model) {
  static const KernelTable table = fused_is_quick();
  TinyTrainer like(busy("fst") + model + Settings{"recipe.execution=masked"});
  RecipeConfig recipe = like.config.recipe;
  recipe.execution = "auto";
  const Context context(table, 1);
  return measure_plan(context, recipe, like.trainer.builder().linear_seams(),
                      {.tokens = 64, .steps = 24});
}

TEST(MeasuredPlan, TimesAnActivationWithTheProductThatItComesWith) {
  const Plan plan = plan_for({"model.ffn.activation=gelu-tanh"});
  ASSERT_EQ(plan.layer.size(), 2U);
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
  const Plan plan = plan_for({"model.ffn.activation=swiglu"});
  ASSERT_EQ(plan.layer.size(), 2U);
  EXPECT_TRUE(plan.layer[0].packs_forward());
  EXPECT_FALSE(plan.layer[0].packs_dgrad());
  EXPECT_FALSE(plan.layer[1].packs_forward());
  EXPECT_FALSE(plan.layer[1].packs_dgrad());
}

}  // namespace
}  // namespace twill
