// SPDX-License-Identifier: Apache-2.0
// Recipes as data: what is read, what is refused, and in which words.
#include "sparsity/recipe/recipe.h"

#include <gtest/gtest.h>

#include "io/config/toml_config.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

constexpr RunLength kLength{.steps = 1000, .tokens_per_step = 64};

TEST(Recipe, EveryBuiltInIsReadAndValid) {
  EXPECT_EQ(built_in_recipes().size(), 14u);
  for (const BuiltInRecipe& built_in : built_in_recipes()) {
    RecipeConfig recipe = read_recipe(std::string(built_in.name));
    EXPECT_EQ(recipe.name, built_in.name);
    EXPECT_FALSE(recipe.summary.empty()) << recipe.name;
    EXPECT_EQ(recipe.paper.empty(), recipe.is_dense()) << recipe.name;
    EXPECT_NO_THROW(validate(recipe, kLength)) << recipe.name;
    RecipeConfig again;
    read(TomlDocument::parse_text(write_toml(recipe), "written"), again);
    EXPECT_EQ(write_toml(again), write_toml(recipe));
    EXPECT_TRUE(differences(again, recipe).empty()) << recipe.name;
  }
}

TEST(Recipe, EndsOfPhases) {
  EXPECT_EQ(phase_end("0.8333", kLength), 833);
  EXPECT_EQ(phase_end("5/6", kLength), 833);
  EXPECT_EQ(phase_end("1", kLength), 1000);
  EXPECT_EQ(phase_end("0.0", kLength), 0);
  EXPECT_EQ(phase_end("250000 steps", kLength), 250000);
  EXPECT_EQ(phase_end("40steps", kLength), 40);
  EXPECT_EQ(phase_end("130e9 tokens", kLength), 2031250000);
  EXPECT_EQ(phase_end("65 tokens", kLength), 2)
      << "the step that reaches them belongs to the phase";
  for (const char* bad : {"", "half", "1.5", "-0.5", "nan", "inf", "5/0", "6/5", "5/", "/6",
                          "1 step", "-1 steps", "inf steps", "nan steps", "1e30 tokens", "0.5 0.6"})
    expect_error([&] { (void)phase_end(bad, kLength); },
                 std::string("recipe: until = \"") + bad + "\" is not an end: expected a fraction");
}

// `text` is TOML of a recipe.
void expect_refused(const std::string& text, std::string_view part) {
  RecipeConfig recipe;
  read(TomlDocument::parse_text(text, "test"), recipe);
  expect_error([&] { validate(recipe, kLength); }, part);
}

TEST(Recipe, PhasesNeitherOverlapNorLeaveGaps) {
  expect_refused("phase = [{until = 0.5}, {until = 0.4}, {until = 1.0}]",
                 "recipe.phase.1: until = \"0.4\" ends at step 400, but the phase begins there or "
                 "later (step 500): phases may not overlap or be empty; this run has 1000 steps");
  expect_refused("phase = [{until = 0.5}, {until = \"500 steps\"}, {until = 1.0}]",
                 "recipe.phase.1: until = \"500 steps\" ends at step 500, but the phase begins");
  expect_refused("phase = [{until = 0.0}, {until = 1.0}]", "recipe.phase.0: until");
  expect_refused("phase = [{until = 0.5}]",
                 "recipe: the last phase ends at step 500, and steps 500 to 1000 have none; let it "
                 "end at 1.0");
}

TEST(Recipe, ARunThatEndsWithOnePhaseNeedsNoStepsForTheNext) {
  for (const BuiltInRecipe& built_in : built_in_recipes()) {
    RecipeConfig recipe = read_recipe(std::string(built_in.name));
    const RunLength one{.steps = 1, .tokens_per_step = 64};
    if (recipe.is_dense() || phase_end(recipe.phase.front().until, one) == 0) continue;
    EXPECT_NO_THROW(validate(recipe, one)) << built_in.name;
  }
  expect_refused("phase = [{until = 1.0}, {until = 0.9}]", "recipe.phase.1: until = \"0.9\" ends");
}

TEST(Recipe, ImpossibleCombinations) {
  const auto one = [](const std::string& parts) { return "phase = [{" + parts + "}]"; };
  expect_refused(one(R"(weights = {pattern = "2:4", projection = "topology"})"),
                 "recipe.phase.0: weights.projection = \"topology\" does not go with "
                 "weights.pattern = \"2:4\": a kept topology is unstructured");
  expect_refused(
      one(R"(weights = "unstructured")"),
      "weights.projection = \"hard\" does not go with weights.pattern = \"unstructured\"");
  expect_refused(one(R"(weights = {pattern = "V:2:M", projection = "soft"})"),
                 "weights.projection = \"soft\" is defined for weights.pattern = \"2:4\", got "
                 "\"V:2:M\"");
  expect_refused(
      one(R"(decay = {on = "gradients", lambda = 1.0})"),
      "decay.on = \"gradients\" pulls on pruned weights, but weights.pattern = \"dense\" "
      "has none; set decay.on = \"none\"");
  expect_refused(one(R"(weights = "2:4", decay = {lambda = 0.5})"),
                 "decay.lambda = 0.5 does nothing while decay.on = \"none\"; set decay.on = "
                 "\"gradients\"");
  expect_refused(one(R"(weights = {pattern = "V:2:M", m = 6})"),
                 "weights.m = 6 must be a multiple of 4");
  expect_refused(one(R"(wgrad = "kept")"),
                 "wgrad.estimator = \"kept\" does not go with weights.projection = \"hard\"");
  expect_refused(one(R"(weights = {pattern = "unstructured", projection = "topology"})"),
                 "wgrad.estimator = \"dense\" does not go with weights.projection = \"topology\": "
                 "\"kept\" and \"topology\" need each other");
  expect_refused(one(R"(optimizer = {on_update = "apply"})"),
                 "optimizer.on_update is for a kept topology");
  expect_refused(one(R"(topology = {density = 0.5})"),
                 "topology.density is for weights.projection = \"topology\", got \"hard\"");
  expect_refused(
      one(R"(weights = {pattern = "unstructured", projection = "topology"}, wgrad = "kept", topology = {density = 0.0})"),
      "topology.density must be above 0, got 0 and 0");
  expect_refused(one(R"(optimizer = {second_moment = "frozen"})"),
                 "optimizer.second_moment = \"frozen\" has nothing to freeze in the first phase");
  expect_refused(
      one(R"(early_end = "second-moment-settled")"),
      "early_end.when = \"second-moment-settled\" in the last phase: no phase follows it");
}

TEST(Recipe, ImpossibleActivations) {
  const auto one = [](const std::string& part) {
    return "phase = [{activations = {" + part + "}}]";
  };
  expect_refused(one(R"(pattern = "V:2:M", order = "energy")"),
                 "activations.order = \"energy\" sorts tokens by clusters of neurons; set "
                 "activations.clusters = true");
  expect_refused(
      one(R"(pattern = "2:4", clusters = true)"),
      "activations.clusters needs activations.pattern = \"V:2:M\" with m a multiple of 4 "
      "above 4, got \"2:4\" with m = 8");
  expect_refused(one(R"(pattern = "V:2:M", clusters = true, m = 4)"), "with m = 4");
  expect_refused(one(R"(pattern = "V:2:M", m = 6)"), "activations.m = 6 must be a multiple of 4");
  expect_refused(one(R"(transposed = "2:4")"),
                 "activations.transposed and dense_share belong to a selection, but "
                 "activations.pattern is \"dense\"");
  expect_refused(R"(phase = [{wgrad = "mvue", activations = "2:4"}])",
                 "wgrad.estimator = \"mvue\" and activations.pattern = \"2:4\" would both sparsify "
                 "the weight gradient; use one");
}

TEST(Recipe, OneTopologyHasOneSetOfLayers) {
  const std::string part =
      R"(weights = {pattern = "unstructured", projection = "topology"}, wgrad = "kept")";
  expect_refused(
      "phase = [{until = 0.5, " + part + "}, {layers = [\"ffn\", \"head\"], " + part + "}]",
      "recipe.phase.1: layers = [\"ffn\", \"head\"] continues the kept topology of "
      "recipe.phase.0, which has layers = [\"ffn\"]: one topology has one set of layers");
}

// A run of this recipe on the tiny model is refused before it begins.
void expect_no_run(const std::vector<std::string>& settings, std::string_view part) {
  expect_error([&] { const TinyTrainer tiny(settings); }, part);
}

TEST(Recipe, AScopeThatMatchesNothing) {
  expect_no_run({"recipe=ste", "recipe.layers=fnn"},
                "recipe: layers = \"fnn\" matches no layer; expected ffn, attention, all-linear, "
                "head, or a glob over names like blocks.");
  expect_no_run({"recipe=ste", "recipe.phase.0.layers=[\"ffn\", \"blocks.7.*\"]"},
                "recipe: layers = \"blocks.7.*\" matches no layer");
  expect_no_run({"recipe=ste", "recipe.phase.0.weights.forward=*.inptu"},
                "recipe: weights.forward = \"*.inptu\" matches no layer in scope; expected globs "
                "over names like blocks.0.ffn.input");
  expect_no_run({"recipe=ste", "recipe.phase.0.weights.dgrad=*.attention.*"},
                "recipe: weights.dgrad = \"*.attention.*\" matches no layer in scope");
  expect_no_run(
      {"recipe=relu2-24", "train.steps=60", "model.ffn.activation=relu2",
       "recipe.layers=attention"},
      "recipe: activations.pattern = \"2:4\" needs an FFN in scope, but recipe.layers has "
      "none");
}

TEST(Recipe, DimensionsThatThePatternCannotDivide) {
  expect_no_run(
      {"recipe=ste", "model.width=18"},
      "recipe: weights.pattern = \"2:4\" needs the inputs of blocks.0.ffn.input to be a "
      "multiple of 4, got 18; change model.width (the nearest is 20), leave the layer out "
      "with recipe.layers, or set recipe=dense");
  expect_no_run({"recipe=fst", "model.ffn.width=30"},
                "needs the outputs of blocks.0.ffn.input to be a multiple of 4, got 30; change "
                "model.ffn.width (the nearest is 32)");
  expect_no_run(
      {"recipe=ste", "recipe.phase.0.weights.pattern=V:2:M", "recipe.phase.0.weights.m=12"},
      "to be a multiple of 12, got 16");
  expect_no_run({"recipe.health.virtual_mask=2:4", "model.width=18"},
                "to be a multiple of 4, got 18");
  expect_no_run(
      {"recipe=relu2-24", "train.steps=60", "model.ffn.activation=relu2", "model.ffn.width=30"},
      "recipe: activations.pattern = \"2:4\" needs the hidden width of blocks.0.ffn to be "
      "a multiple of 4, got 30");
  // Only layers in scope count.
  EXPECT_NO_THROW(TinyTrainer({"recipe=ste", "model.ffn.width=30", "recipe.layers=*.ffn.input"}));
}

TEST(Recipe, WhatTheModelMustHave) {
  expect_no_run(
      {"recipe=ste", "recipe.layers=head"},
      "recipe: weights.pattern = \"2:4\" has the head in scope, whose weight is the "
      "embedding's too: an exported model could not have one projected and the other not; set "
      "model.tied_head=false, or leave \"head\" out");
  expect_no_run({"recipe=venom"},
                "recipe venom is made for model.ffn.activation = \"relu2\", got \"gelu");
  expect_no_run({"recipe=relu2-24", "train.steps=60", "recipe.needs_activation=\"\"",
                 "model.ffn.activation=swiglu"},
                "recipe: activations.pattern = \"2:4\" needs an FFN of two matrices, but "
                "blocks.0.ffn is gated; set model.ffn.activation=relu2");
  expect_no_run({"recipe=venon"},
                "unknown recipe 'venon'; did you mean 'venom'? `twill recipes` lists");
}

TEST(Recipe, KeysOfAPhaseOnTheCommandLine) {
  const RunConfig config = read_run_config("", {"recipe=fst", "recipe.phase.0.decay.lambda=2e-5"});
  ASSERT_EQ(config.recipe.phase.size(), 2u);
  EXPECT_EQ(config.recipe.phase[0].decay.lambda, 2e-5);
  EXPECT_EQ(config.recipe.phase[0].decay.on, DecayOn::kGradients);
  EXPECT_EQ(config.recipe.phase[0].weights.refresh, 40);
  EXPECT_TRUE(config.recipe.phase[1].is_dense());
}

TEST(Recipe, PhasesOfARunStandForThemselves) {
  const TempDir dir;
  const std::string file = dir.write("run.toml", R"(
[recipe]
name = "fst"
[[recipe.phase]]
until = 1.0
weights = "2:4"
)");
  const RunConfig config = read_run_config(file, {"recipe.phase.0.weights.refresh=7"});
  ASSERT_EQ(config.recipe.phase.size(), 1u);
  EXPECT_EQ(config.recipe.phase[0].weights.pattern, WeightPattern::k24);
  EXPECT_EQ(config.recipe.phase[0].weights.refresh, 7);
  EXPECT_EQ(config.recipe.phase[0].wgrad.estimator, WgradEstimator::kDense)
      << "nothing of fst's own phase";
  EXPECT_EQ(config.recipe.phase[0].decay.on, DecayOn::kNone);
  EXPECT_EQ(read_run_config("", {"recipe=mine", "recipe.phase=[{weights = \"2:4\"}]"}).recipe.name,
            "mine");
}

// The run's config says all of it: the recipe's file may be gone when the run is resumed.
TEST(Recipe, AFileIsReadOnceAndKeptInTheRun) {
  const TempDir dir;
  for (const char* text : {"[[phase]]\nweights = \"2:4\"\n", "summary = \"nothing\"\n"}) {
    RunConfig config = read_run_config("", {"recipe=" + dir.write("mine.toml", text)});
    EXPECT_EQ(config.recipe.name, "mine");
    ASSERT_EQ(config.recipe.phase.size(), 1u);
    RunConfig again = read_run_config(dir.write("run.toml", write_toml(config)), {});
    EXPECT_TRUE(differences(config, again).empty());
  }
  expect_error([&] { (void)read_run_config("", {"recipe=" + (dir / "none.toml")}); },
               "cannot read");
  expect_error(
      [&] {
        (void)read_run_config("", {"recipe=" + dir.write("bad.toml", "[[phase]]\nweigts = 1\n")});
      },
      "line 2: unknown key");
}

}  // namespace
}  // namespace twill
