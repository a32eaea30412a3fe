// SPDX-License-Identifier: Apache-2.0
// A plan speaks of sites: layers of one shape at different places have entries of their own.
#include <deque>

#include <gtest/gtest.h>

#include "io/config/toml_config.h"
#include "ops/products/gemm.h"
#include "ops/products/times_packed.h"
#include "papers/recipe_run.h"
#include "sparsity/plan/explain_plan.h"
#include "sparsity/plan/measure_plan.h"
#include "support/test_clock.h"
#include "train/run/make_plan.h"

namespace twill::plan_sites_test {
namespace {

TEST(PlanSites, AreToldByTheirPlaceInABlock) {
  EXPECT_EQ(site_kind("blocks.12.ffn.input"), "blocks.*.ffn.input");
  EXPECT_EQ(site_kind("decoder.3.cross.q"), "decoder.*.cross.q");
  EXPECT_EQ(site_kind("head"), "head");
  EXPECT_EQ(site_kind("h2.1.2.x"), "h2.*.*.x");
}

// Queries, queries of cross-attention and an output that adds the residual stream, in two blocks: all 16 x 16.
struct ThreeSquares {
  ThreeSquares() {
    for (const char* block : {"0", "1"})
      for (const char* place : {"attention.q", "cross.q", "attention.output"}) {
        Parameter& weight = parameters.emplace_back();
        weight.shape = {16, 16};
        const bool is_output = std::string(place) == "attention.output";
        layers.push_back(
            {.name = std::string("blocks.") + block + "." + place,
             .family = LayerFamily::kAttention,
             .weight = &weight,
             .width_axis = is_output ? GroupAxis::kWithinColumn : GroupAxis::kWithinRow,
             .adds_residual = is_output});
      }
    recipe = tiny_config(busy("fst") + Settings{"recipe.layers=attention"}).recipe;
    recipe.execution = Execution::kFastest;
  }
  std::deque<Parameter> parameters;
  std::deque<LinearSeam> layers;
  RecipeConfig recipe;
};

TEST(PlanSites, OfOneShapeHaveEntriesOfTheirOwn) {
  const ThreeSquares squares;
  Plan plan;
  plan.layer = planned_sites(squares.recipe, squares.layers);
  ASSERT_EQ(plan.layer.size(), 3U);
  for (const PlanEntry& entry : plan.layer) EXPECT_EQ(entry.layers, 2);
  plan.layer[1].on = false;
  EXPECT_TRUE(plan.is_on(0, squares.layers[0]));
  EXPECT_FALSE(plan.is_on(0, squares.layers[1]));
  EXPECT_FALSE(plan.is_on(0, squares.layers[4])) << "of the other block";
  EXPECT_TRUE(plan.is_on(0, squares.layers[5]));
}

// As runs of before have it beside them: an entry is of a shape.
TEST(PlanSites, APlanOfBeforeSpeaksOfShapes) {
  constexpr const char* kText = R"(execution = "auto"
device = "somewhere"
tokens = 64
slowed_by_packed = 0.0
slows_too_much = false

[[layer]]
phase = 0
outputs = 16
inputs = 16
layers = 6
on = true
forward_below = 0.6
dgrad_below = 0.0
wgrad_below = 0.0
forward_selected = false
dgrad_selected = false
wgrad_selected = false
density = 0.5
dense_forward = 0.001
dense_dgrad = 0.001
dense_wgrad = 0.001
packed_forward = 0.0005
packed_dgrad = 0.002
packed_wgrad = 0.001
upkeep = 0.0
selection = 0.0
)";
  Plan plan;
  read(TomlDocument::parse_text(kText, "plan.toml"), plan);
  const ThreeSquares squares;
  EXPECT_TRUE(fit_of(plan, planned_sites(squares.recipe, squares.layers)));
  for (const LinearSeam& seam : squares.layers) {
    const PlanEntry* entry = plan.find(0, seam);
    ASSERT_NE(entry, nullptr) << seam.name;
    EXPECT_TRUE(entry->packs_forward());
    EXPECT_FALSE(entry->packs_dgrad());
  }
  plan.layer.front().inputs = 32;
  const PlanFit fit = fit_of(plan, planned_sites(squares.recipe, squares.layers));
  ASSERT_NE(fit.missing, nullptr);
  EXPECT_EQ(fit.missing->inputs, 16);
}

// Two sites of the same work are timed once, the third, which adds a residual, for itself.
TEST(PlanSites, AreTimedAsTheyAre) {
  static int packed_forwards = 0;
  static const KernelTable table = [] {
    KernelTable timed = by_test_clock(cpu_table());
    timed.gemm = [](const GemmArgs&, const Device&, Queue&) { test_clock += 2e-3; };
    timed.times_packed = [](const TimesPackedArgs& args, const Device&, Queue&) {
      ++packed_forwards;
      test_clock += args.addend ? 6e-3 : 1e-3;
    };
    return timed;
  }();
  const ThreeSquares squares;
  const Context context(table, 1);
  const Plan plan =
      measure_plan(context, squares.recipe, squares.layers, {.tokens = 64, .steps = 24});
  ASSERT_EQ(plan.layer.size(), 3U);
  const PlanEntry &q = plan.layer[0], &cross = plan.layer[1], &output = plan.layer[2];
  EXPECT_TRUE(q.packs_forward());
  EXPECT_FALSE(output.packs_forward()) << "with the residual it is slower";
  EXPECT_TRUE(output.packs_dgrad());
  EXPECT_EQ(cross.site, "blocks.*.cross.q");
  EXPECT_EQ(cross.packed.forward, q.packed.forward);
  EXPECT_EQ(cross.on, q.on);
  const int calls = packed_forwards;
  packed_forwards = 0;
  std::deque<LinearSeam> two{squares.layers[0], squares.layers[2]};
  measure_plan(context, squares.recipe, two, {.tokens = 64, .steps = 24});
  EXPECT_EQ(packed_forwards, calls) << "the third site has cost nothing";
}

TEST(PlanSites, TheirKernelsAreNamed) {
  RunConfig config = tiny_config(busy("fst"));
  Context context(cpu_table(), 1);
  const std::vector<ExplainedSite> sites = explain_plan(context, config, Plan());
  ASSERT_EQ(sites.size(), 2U);
  const auto kernel = [](const std::vector<NamedProduct>& products, std::string_view name) {
    for (const NamedProduct& one : products)
      if (one.product == name) return one.verdict;
    return Verdict();
  };
  EXPECT_EQ(sites[0].entry.site, "blocks.*.ffn.input");
  EXPECT_TRUE(kernel(sites[0].dense, "forward").kernel.starts_with("cpu: oneDNN sgemm, then gelu"));
  EXPECT_EQ(kernel(sites[0].dense, "forward").reason, "oneDNN's sgemm has no activation inside");
  EXPECT_TRUE(kernel(sites[0].packed, "forward")
                  .kernel.starts_with("cpu: dense x packed, transposable 2:4, "));
  EXPECT_TRUE(kernel(sites[0].packed, "wgrad").kernel.starts_with("cpu: packed x dense, 2:4, "));
  EXPECT_EQ(kernel(sites[1].dense, "dgrad").kernel.substr(0, 17), "cpu: oneDNN sgemm");
  EXPECT_EQ(context.observer, nullptr);
  config.recipe.phase.front().quantise.format = NumberFormat::kFp8;
  EXPECT_EQ(explain_plan(context, config, Plan()).front().unpacked_reason,
            "a simulated number format runs with dense operands only");
}

// V:2:M: products that leave out the zeros of the weight, or of selected activations where the plan takes these.
TEST(PlanSites, TheirKernelsWithSelectedActivationsAreNamed) {
  const RunConfig config = tiny_config(busy("venom"));
  Context context(cpu_table(), 1);
  RecipeConfig recipe = config.recipe;
  recipe.execution = Execution::kPacked;
  const auto kernel = [&](const Plan& plan, std::size_t site, std::string_view name) {
    const std::vector<ExplainedSite> sites = explain_plan(context, config, plan);
    for (const NamedProduct& one : sites.at(site).packed)
      if (one.product == name) return one.verdict.kernel;
    return std::string();
  };
  Plan plan;
  EXPECT_TRUE(kernel(plan, 1, "forward").starts_with("cpu: dense x packed"));
  PlanEntry selects = explain_plan(context, config, plan).at(1).entry;
  selects.forward_selected = selects.wgrad_selected = true;
  plan.layer = {selects};
  EXPECT_TRUE(kernel(plan, 1, "forward").starts_with("cpu: packed x dense, kept entries"));
  EXPECT_TRUE(kernel(plan, 1, "wgrad").starts_with("cpu: packed x dense, kept entries"));
  EXPECT_TRUE(kernel(plan, 0, "dgrad").starts_with("cpu: dense x packed"));
}

}  // namespace
}  // namespace twill::plan_sites_test
