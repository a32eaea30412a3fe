// SPDX-License-Identifier: Apache-2.0
#include "twill/recipe.h"

#include <gtest/gtest.h>

#include "io/config/toml_config.h"
#include "io/temp_dir.h"
#include "sparsity/recipe/recipe.h"
#include "support/expect_error.h"
#include "train/library/recipe_settings.h"
#include "train/run/run_config.h"

namespace twill {
namespace {

// Through key=value pairs nothing of a recipe is lost.
TEST(RecipeValue, ReachesARunAsItIs) {
  for (const BuiltInRecipe& known : built_in_recipes()) {
    const Recipe recipe = Recipe::named(std::string(known.name));
    EXPECT_EQ(recipe.name(), known.name);
    RunConfig named = read_run_config("", {"recipe=" + std::string(known.name)});
    RunConfig given = read_run_config("", recipe_settings(recipe));
    EXPECT_TRUE(differences(named, given).empty()) << known.name;
    EXPECT_EQ(Recipe::parse(recipe.toml()), recipe);
  }
}

TEST(RecipeValue, IsBuiltInCode) {
  Recipe recipe("mine \"and\" yours");
  recipe.set("layers=all-linear").set("health.every=7");
  recipe.add_phase({"until=5/6", "weights.pattern=2:4", "decay.on=gradients"}).add_phase({});
  recipe.set("phase.0.decay.lambda=1e-5");
  RecipeConfig config = read_run_config("", recipe_settings(recipe)).recipe;
  EXPECT_EQ(config.name, "mine \"and\" yours");
  EXPECT_EQ(config.layers, std::vector<std::string>{"all-linear"});
  EXPECT_EQ(config.health.every, 7);
  ASSERT_EQ(config.phase.size(), 2u);
  EXPECT_EQ(config.phase[0].until, "5/6");
  EXPECT_EQ(config.phase[0].decay.lambda, 1e-5);
  EXPECT_TRUE(config.phase[1].is_dense());
  EXPECT_TRUE(read_run_config("", recipe_settings(Recipe("none"))).recipe.is_dense());
}

TEST(RecipeValue, SaysWhatIsWrong) {
  Recipe recipe("mine");
  const Recipe before = recipe;
  expect_error([&] { recipe.set("layer=ffn"); }, "layer");
  expect_error([&] { recipe.add_phase({"weights.pattern=3:4"}); }, "3:4");
  expect_error([&] { recipe.add_phase({"weights"}); }, "expected key=value");
  expect_error([&] { recipe.set("name=a.toml"); }, "is no name for a recipe");
  EXPECT_EQ(recipe, before);
  expect_error([] { Recipe(""); }, "is no name for a recipe");
  expect_error([] { Recipe::named("fts"); }, "unknown recipe 'fts'");
  expect_error([] { Recipe::parse("[[phase]]\nwords = 3\n"); }, "recipe: line 2");
  const TempDir dir;
  EXPECT_EQ(Recipe::named(dir.write("own.toml", "layers = \"ffn\"\n")).name(), "own");
}

}  // namespace
}  // namespace twill
