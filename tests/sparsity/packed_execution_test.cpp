// SPDX-License-Identifier: Apache-2.0
// Packed execution is the same method as masked execution: the same masks and draws, numbers within
// the roundings of another order of additions.
#include <cmath>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "papers/recipe_run.h"
#include "sparsity/plan/measure_plan.h"
#include "sparsity/plan/plan.h"

namespace twill {
namespace {

Settings with_execution(const std::string& recipe, const std::string& execution) {
  return busy(recipe) + Settings{"recipe.execution=" + execution};
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

class PackedRecipe : public testing::TestWithParam<std::string> {};

// How many products of a step run packed.
struct PackedCounter : OpObserver {
  void before(std::string_view op) override {
    products += op == "times_packed";
    gradients += op == "kept_gradient";
  }
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override {}
  int products = 0, gradients = 0;
};

// Weights of one step differ by roundings: relative 2^-24 times the terms of the longest sum (32
// tokens, 64 inputs, eight layers of sums behind one another) and what AdamW makes of it, which
// divides by the root of v: about 1e-4. A mask that is not the same moves the loss by 1e-2 and more.
TEST_P(PackedRecipe, FollowsMaskedExecution) {
  TinyTrainer masked(with_execution(GetParam(), "masked"));
  TinyTrainer packed(with_execution(GetParam(), "packed"));
  PackedCounter counter;
  packed.context.observer = &counter;
  for (int step = 0; step < 24; ++step) {
    const StepResult a = masked.trainer.step(), b = packed.trainer.step();
    ASSERT_NEAR(a.loss, b.loss, 1e-3 * a.loss) << "step " << step;
    ASSERT_NEAR(a.grad_norm, b.grad_norm, 1e-2 * a.grad_norm) << "step " << step;
    ASSERT_EQ(a.topology_update, b.topology_update);
    if (step < 6) {
      ASSERT_EQ(masks_of(masked) == masks_of(packed), true) << "step " << step;
    }
  }
  packed.context.observer = nullptr;
  EXPECT_GT(counter.products, 24);
  const bool keeps = packed.trainer.sparsity().recipe().phase.front().weights.is_topology();
  EXPECT_EQ(counter.gradients > 10, keeps);
}

void expect_threads_change_no_bit(const std::string& recipe) {
  const Settings settings = with_execution(recipe, "packed");
  TinyTrainer one(settings), two(settings + Settings{"threads=2"}),
      three(settings + Settings{"threads=3"});
  EXPECT_EQ(one.losses(24), two.losses(24));
  three.losses(24);
  EXPECT_EQ(state_of(one) == state_of(two), true);
  EXPECT_EQ(state_of(one) == state_of(three), true);
}

TEST_P(PackedRecipe, ThreadsChangeNoBit) { expect_threads_change_no_bit(GetParam()); }

// What a run hands out does not depend on how it ran.
TEST_P(PackedRecipe, MasterWeightsAreTheMasters) {
  TinyTrainer tiny(with_execution(GetParam(), "packed"));
  tiny.losses(4);
  const double master = tiny.trainer.evaluate_master();
  TinyTrainer plain(busy("dense"));
  copy_training_state(tiny, plain);
  EXPECT_NEAR(master, plain.trainer.evaluate(), 1e-5 * master);
}

INSTANTIATE_TEST_SUITE_P(Recipes, PackedRecipe,
                         testing::Values("ste", "sr-ste", "fst", "s-ste", "static", "set", "rigl",
                                         "mst"),
                         test_name);

class PackedSelection : public testing::TestWithParam<std::string> {};

// Selections and products of a run.
struct SelectionLog : OpObserver {
  void before(std::string_view op) override {
    selections += op == "venom_select";
    products += op == "packed_times";
    weights += op == "times_packed";
    dense += op == "gemm";
  }
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override {}
  int selections = 0, products = 0, weights = 0, dense = 0;
};

// The same steps from the same state: the bound of FollowsMaskedExecution, where a selection that
// differs in a few of 2,048 activations moves the norm of the gradient by 1e-2. The runs are joined
// again in front of every step, because a selection turns roundings into other activations.
TEST_P(PackedSelection, FollowsMaskedExecution) {
  TinyTrainer masked(with_execution(GetParam(), "masked"));
  TinyTrainer packed(with_execution(GetParam(), "packed"));
  SelectionLog of_masked, of_packed;
  for (int step = 0; step < 24; ++step) {
    restore(state_of(masked), packed);
    masked.context.observer = &of_masked;
    packed.context.observer = &of_packed;
    const StepResult a = masked.trainer.step(), b = packed.trainer.step();
    masked.context.observer = packed.context.observer = nullptr;
    ASSERT_NEAR(a.loss, b.loss, 1e-5 * a.loss) << "step " << step;
    ASSERT_NEAR(a.grad_norm, b.grad_norm, 1e-4 * a.grad_norm) << "step " << step;
  }
  EXPECT_GT(of_masked.selections, 20);
  EXPECT_EQ(of_packed.selections, of_masked.selections);
  // Four of six products; the other two take packed weights where these are sparse, else they are
  // dense: as many products as masked execution has.
  EXPECT_EQ(of_packed.products % 4, 0);
  EXPECT_GT(of_packed.products, 40);
  EXPECT_EQ(of_packed.products + of_packed.weights + of_packed.dense, of_masked.dense);
  EXPECT_EQ(of_packed.weights > 20, GetParam() == "venom");
}

TEST_P(PackedSelection, ThreadsChangeNoBit) { expect_threads_change_no_bit(GetParam()); }

// Gradients of several micro-batches are added up, also where the product writes them transposed.
TEST_P(PackedSelection, AccumulatesOverMicroBatches) {
  const Settings more{"train.batch_tokens=128"};
  TinyTrainer masked(with_execution(GetParam(), "masked") + more);
  TinyTrainer packed(with_execution(GetParam(), "packed") + more);
  masked.losses(6);
  restore(state_of(masked), packed);
  const StepResult a = masked.trainer.step(), b = packed.trainer.step();
  EXPECT_NEAR(a.grad_norm, b.grad_norm, 1e-4 * a.grad_norm);
}

// A backend of 2:4 patterns alone, as a GPU, has no packed products of kept topologies.
TEST(FixedPlan, LeavesTopologiesAloneWithoutTheirProducts) {
  TinyTrainer mst(with_execution("mst", "packed"));
  const auto& seams = mst.trainer.builder().linear_seams();
  const auto packs = [&](bool any_mask) {
    double below = 0.0;
    for (const PlanEntry& entry : fixed_plan(mst.config.recipe, seams, any_mask).layer)
      below += entry.forward_below + entry.dgrad_below + entry.wgrad_below;
    return below > 0.0;
  };
  EXPECT_TRUE(packs(true));
  EXPECT_FALSE(packs(false));
}

// `fastest` with a plan that has both matrices on selects and packs as `packed` does; off, it is dense.
TEST_P(PackedSelection, PlanTurnsItOnAndOff) {
  TinyTrainer packed(with_execution(GetParam(), "packed"));
  const RunConfig config = tiny_config(with_execution(GetParam(), "fastest"));
  Plan plan = fixed_plan(packed.config.recipe, packed.trainer.builder().linear_seams(), true);
  ASSERT_EQ(plan.layer.size(), 2U);
  plan.execution = Execution::kFastest;
  const TrainingData data = open_run_data(config);
  Trainer on(packed.context, config, data, plan);
  for (PlanEntry& entry : plan.layer) entry.on = false;
  Trainer off(packed.context, config, data, plan);
  on.begin();
  off.begin();
  for (int step = 0; step < 24; ++step) {
    ASSERT_EQ(on.step().loss, packed.trainer.step().loss) << "step " << step;
    off.step();
    EXPECT_FALSE(off.sparsity().trains_otherwise());
  }
}

// Both matrices of an FFN have one shape: each has an entry of its own, and takes what is selected where it
// has it.
TEST_P(PackedSelection, FollowsMaskedExecutionInSquareFfns) {
  const Settings square{"model.ffn.width=16"};
  TinyTrainer masked(with_execution(GetParam(), "masked") + square);
  TinyTrainer packed(with_execution(GetParam(), "packed") + square);
  ASSERT_EQ(packed.trainer.sparsity().plan().layer.size(), 2U);
  SelectionLog log;
  for (int step = 0; step < 8; ++step) {
    restore(state_of(masked), packed);
    packed.context.observer = &log;
    const StepResult a = masked.trainer.step(), b = packed.trainer.step();
    packed.context.observer = nullptr;
    ASSERT_NEAR(a.grad_norm, b.grad_norm, 1e-4 * a.grad_norm) << "step " << step;
  }
  EXPECT_GT(log.products, 8);
}

// Times depend on the machine; what is measured for which matrix does not.
TEST_P(PackedSelection, IsMeasuredForBothMatricesTogether) {
  TinyTrainer like(with_execution(GetParam(), "masked"));
  RecipeConfig recipe = like.config.recipe;
  recipe.execution = Execution::kFastest;
  const Plan plan = measure_plan(like.context, recipe, like.trainer.builder().linear_seams(),
                                 {.tokens = 64, .steps = 24});
  ASSERT_EQ(plan.layer.size(), 2U);
  const PlanEntry &input = plan.layer[0], &output = plan.layer[1];
  ASSERT_GT(input.outputs, input.inputs);
  for (const PlanEntry* entry : {&input, &output}) {
    EXPECT_GT(entry->selection, 0.0);
    EXPECT_GT(entry->dense.sum(), 0.0);
    EXPECT_GT(entry->packed.wgrad, 0.0);
    EXPECT_NE(entry->packed.wgrad, entry->dense.wgrad);
  }
  EXPECT_NE(input.packed.dgrad, input.dense.dgrad);
  EXPECT_NE(output.packed.forward, output.dense.forward);
  EXPECT_FALSE(input.forward_selected || output.dgrad_selected);
  EXPECT_EQ(input.on, output.on);
  EXPECT_EQ(plan.selects(1), input.on);
}

INSTANTIATE_TEST_SUITE_P(Recipes, PackedSelection, testing::Values("venom", "relu2-24"), test_name);

// A plan that turns everything off is dense training, to the bit: no projection, no skipped update of
// a topology, no alarm.
class AllOff : public testing::TestWithParam<std::string> {};

TEST_P(AllOff, IsDense) {
  TinyTrainer dense(busy("dense"));
  const RunConfig config = tiny_config(with_execution(GetParam(), "fastest"));
  Plan plan;
  plan.execution = Execution::kFastest;
  plan.layer = planned_sites(config.recipe, dense.trainer.builder().linear_seams());
  ASSERT_GE(plan.layer.size(), 2U);
  for (PlanEntry& entry : plan.layer) entry.on = false;
  const TrainingData data = open_run_data(config);
  Trainer off(dense.context, config, data, plan);
  off.begin();
  for (int step = 0; step < 24; ++step) {
    const StepResult result = off.step();
    ASSERT_EQ(result.loss, dense.losses(1)[0]) << "step " << step;
    EXPECT_FALSE(result.topology_update);
    EXPECT_FALSE(off.sparsity().projects_weights());
    const auto sample = off.sparsity().take_sample();
    EXPECT_TRUE(!sample || (!sample->has_mask && sample->alarm.empty()));
    if (step > 0) continue;
    EXPECT_GT(off.sparsity().num_in_scope(), 0);
    EXPECT_EQ(off.sparsity().num_off(), off.sparsity().num_in_scope());
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, AllOff, testing::Values("fst", "s-ste", "rigl"), test_name);

// As written, whatever a stopwatch said: with nothing packed `auto` is masked execution to the bit, with some or
// all products packed it has the same masks and losses that differ by rounding alone.
class AsWritten : public testing::TestWithParam<std::string> {};

TEST_P(AsWritten, IsTheSameMethodUnderEveryPlan) {
  TinyTrainer masked(with_execution(GetParam(), "masked"));
  const RunConfig config = tiny_config(with_execution(GetParam(), "auto"));
  Plan all = fixed_plan(tiny_config(with_execution(GetParam(), "packed")).recipe,
                        masked.trainer.builder().linear_seams(), true);
  all.execution = Execution::kAuto;
  ASSERT_GE(all.layer.size(), 2U);
  Plan none = all, some = all;
  for (PlanEntry& entry : none.layer) {
    entry.forward_below = entry.dgrad_below = entry.wgrad_below = 0.0;
    entry.forward_selected = entry.dgrad_selected = entry.wgrad_selected = false;
  }
  some.layer[0] = none.layer[0];
  some.layer[1].dgrad_below = some.layer[1].wgrad_below = 0.0;
  const TrainingData data = open_run_data(config);
  Trainer with_none(masked.context, config, data, none),
      with_some(masked.context, config, data, some), with_all(masked.context, config, data, all);
  for (Trainer* trainer : {&with_none, &with_some, &with_all}) trainer->begin();
  const auto masks_of = [](Trainer& trainer) {
    std::vector<std::uint8_t> bytes;
    for (const SparseLayer& layer : trainer.sparsity().layers())
      if (layer.mask)
        bytes.insert(bytes.end(), layer.mask.as<std::uint8_t>(),
                     layer.mask.as<std::uint8_t>() + layer.mask.num_elements());
    return bytes;
  };
  for (int step = 0; step < 6; ++step) {
    const double loss = masked.trainer.step().loss;
    ASSERT_EQ(with_none.step().loss, loss) << "step " << step;
    ASSERT_NEAR(with_some.step().loss, loss, 1e-4 * loss) << "step " << step;
    ASSERT_NEAR(with_all.step().loss, loss, 1e-4 * loss) << "step " << step;
    ASSERT_EQ(masks_of(with_none), masks_of(masked.trainer)) << "step " << step;
    if (step > 0) continue;
    EXPECT_EQ(masks_of(with_some), masks_of(masked.trainer));
    EXPECT_EQ(masks_of(with_all), masks_of(masked.trainer));
  }
  EXPECT_EQ(with_some.sparsity().num_off(), 0);
}

INSTANTIATE_TEST_SUITE_P(Recipes, AsWritten,
                         testing::Values("fst", "s-ste", "s-ste-fp8", "mst", "venom", "relu2-24"),
                         test_name);

// From one kind of mask to another: what was packed by the first is not multiplied by the second.
TEST(PackedExecution, FollowsMaskedExecutionFromAPatternToATopology) {
  const TempDir dir;
  const std::string recipe = dir.write("both.toml", R"(
layers = ["ffn"]
[[phase]]
until   = 0.5
weights = { pattern = "2:4-transposable", projection = "hard", refresh = 4 }
[[phase]]
until    = 1.0
weights  = { pattern = "unstructured", projection = "topology" }
wgrad    = { estimator = "kept" }
topology = { density = 0.3, churn = 0.3, interval = 5, start = "magnitude" }
)");
  TinyTrainer masked(with_execution(recipe, "masked")), packed(with_execution(recipe, "packed"));
  for (int step = 0; step < 24; ++step) {
    const double a = masked.trainer.step().loss, b = packed.trainer.step().loss;
    ASSERT_NEAR(a, b, 1e-3 * a) << "step " << step;
  }
}

// One of two layers off: the other one is projected, and only there are gradients decayed.
TEST(Plan, OneLayerOffLeavesTheOtherOn) {
  const RunConfig config = tiny_config(with_execution("fst", "fastest"));
  TinyTrainer like(busy("fst"));
  Plan plan;
  plan.execution = Execution::kFastest;
  plan.layer = planned_sites(config.recipe, like.trainer.builder().linear_seams());
  plan.layer[0].on = false;
  plan.layer[1].forward_below = plan.layer[1].dgrad_below = 0.6;
  const TrainingData data = open_run_data(config);
  Trainer half(like.context, config, data, plan);
  half.begin();
  half.step();
  const auto& layers = half.sparsity().layers();
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_FALSE(layers[0].seam->route.forward.operand);
  EXPECT_FALSE(layers[0].seam->route.forward.packed);
  EXPECT_TRUE(layers[1].seam->route.forward.operand);
  EXPECT_TRUE(layers[1].seam->route.forward.packed);
  EXPECT_TRUE(layers[1].seam->route.dgrad.packed);
  // A sample is drawn only where the gradient's product gains by it.
  EXPECT_EQ(layers[1].seam->route.wgrad.sample, WgradSample::kDense);
  EXPECT_EQ(layers[0].seam->weight->update.pull, Pull::kNone);
  EXPECT_EQ(layers[1].seam->weight->update.pull, Pull::kOnGradient);
}

}  // namespace
}  // namespace twill
