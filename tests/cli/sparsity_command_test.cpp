// SPDX-License-Identifier: Apache-2.0
// twill recipes, tune decay and probe descent, from outside.
#include <algorithm>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "io/temp_dir.h"
#include "sparsity/recipe/recipe.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

class SparsityCommand : public testing::Test {
 protected:
  ProcessResult twill(std::vector<std::string> words,
                      const std::vector<std::string>& more = {}) const {
    words.insert(words.end(), more.begin(), more.end());
    return run_twill(words, {.folder = dir_.path()});
  }
  void expect_error(const std::vector<std::string>& words, const std::string& part) const {
    const ProcessResult result = twill(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << result.err;
  }

  TempDir dir_;
};

TEST_F(SparsityCommand, RecipesListsAll) {
  const ProcessResult result = twill({"recipes"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const BuiltInRecipe& recipe : built_in_recipes())
    expect_contains("\n" + result.out, "\n" + std::string(recipe.name) + " ");
  expect_contains(result.out, "no sparsity: the yardstick");
  expect_contains(result.out, "until 5/6: 2:4-transposable weights, new masks every 40 steps");
  expect_contains(result.out, "topology of density 0.2, never moved");
}

TEST_F(SparsityCommand, RecipesExplainsOne) {
  for (const BuiltInRecipe& recipe : built_in_recipes()) {
    const std::string name(recipe.name);
    const ProcessResult result = twill({"recipes", name});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect_contains(result.out, std::string(recipe.toml));
    expect_contains(result.out, "twill train recipe=" + name);
  }
  const std::string venom = twill({"recipes", "venom"}).out;
  expect_contains(venom, "paper    arXiv 2602.06183");
  expect_contains(venom, "layers   ffn");
  expect_contains(venom, "needs    model.ffn.activation=relu2");
  expect_contains(venom, "hidden width a multiple of 8");
  dir_.write("mine.toml", "name = \"mine\"\nsummary = \"my own\"\n");
  expect_contains(twill({"recipes", "mine.toml"}).out, "mine: my own");
  expect_error({"recipes", "fss"}, "unknown recipe 'fss'; did you mean 'fst'?");
  expect_error({"recipes", "none.toml"}, "none.toml");
}

TEST_F(SparsityCommand, TuneDecayTriesRemembersAndChooses) {
  const std::vector<std::string> words{"tune", "decay",     "--steps", "4",      "--out",
                                       "t",    "--lambdas", "0,100",   "--json", "t.json"};
  const ProcessResult first = twill(words, tiny_settings({"recipe=fst"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  expect_contains(first.out, "the yardstick");
  expect_contains(first.out, "window of mu: 0.60 to 0.95");
  expect_contains(content_of(dir_ / "t.json"), "\"verdict\"");
  const ProcessResult again = twill(words, tiny_settings({"recipe=fst"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  expect_contains(again.out, "(done before)");
  EXPECT_EQ(std::ranges::count(content_of(dir_ / "t/tune.jsonl"), '\n'), 4);
}

TEST_F(SparsityCommand, TuneDecaySaysWhatIsWrong) {
  expect_error({"tune", "decay"}, "recipe dense has no masked decay to tune");
  expect_error({"tune", "decay", "recipe=s-ste"}, "no phase sets decay.on");
  expect_error({"tune", "decay", "recipe=fst", "device=cpu", "--steps", "2000"},
               "train.steps = 1600");
  expect_error({"tune", "decay", "recipe=fst", "--lambdas", "-1"}, "--lambdas");
  expect_error({"tune", "decoy"}, "did you mean 'decay'?");
}

TEST_F(SparsityCommand, ProbeDescentNeedsAMask) {
  ASSERT_EQ(twill({"train", "run.name=d"}, tiny_settings({"train.steps=4"})).exit_code, 0);
  expect_error({"probe", "descent", "d"}, "say which mask to probe with: --pattern 2:4");
  expect_error({"probe", "descent", "e"}, "e");
  expect_error({"probe", "descent", "d", "--pattern", "1:2"}, "--pattern");
  const ProcessResult result = twill({"probe", "descent", "d", "--pattern", "2:4-transposable",
                                      "--steps", "3", "--json", "p.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_contains(result.out, "hard 2:4-transposable");
  expect_contains(result.out, "actual, mask updated");
  expect_contains(content_of(dir_ / "p.json"), "\"step\": 7");
}

}  // namespace
}  // namespace twill
