// SPDX-License-Identifier: Apache-2.0
// twill recipes: what there is, and what one of them does.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/screen/text_format.h"
#include "io/atomic_file.h"
#include "train/run/run_config.h"
#include "train/run/sparsity_records.h"

namespace twill::cli {
namespace {

// "until 5/6: 2:4-transposable weights, …", one line per phase; a recipe without phases is dense.
std::vector<std::string> phases_of(const RecipeConfig& recipe) {
  if (recipe.phase.empty()) return {"dense"};
  std::vector<std::string> lines;
  for (const PhaseConfig& phase : recipe.phase) {
    std::string text = describe(phase);
    if (phase.early_end.when != EarlyEnd::kNever)
      text += ", ends early when second moments have settled";
    lines.push_back(recipe.phase.size() == 1 && phase.until == "1.0"
                        ? text
                        : fmt::format("until {}: {}", phase.until, text));
  }
  return lines;
}

void print_list() {
  std::size_t width = 0;
  for (const BuiltInRecipe& known : built_in_recipes()) width = std::max(width, known.name.size());
  for (const BuiltInRecipe& known : built_in_recipes()) {
    const RecipeConfig recipe = read_recipe(std::string(known.name));
    fmt::print("{:<{}}  {}\n", known.name, width, recipe.summary);
    for (const std::string& line : phases_of(recipe)) fmt::print("{:<{}}    {}\n", "", width, line);
  }
  fmt::print("\n`{} recipes NAME` explains one; `{} train recipe=NAME` trains with it\n",
             command_name(), command_name());
}

void add_once(std::vector<std::string>& needs, const std::string& need) {
  if (std::ranges::find(needs, need) == needs.end()) needs.push_back(need);
}

void add_division(std::vector<std::string>& needs, const WeightsPart& part) {
  if (part.is_dense() || part.is_topology()) return;
  const std::string_view axis = part.axis == WeightAxis::kWidth ? "the width" : word_of(part.axis);
  add_once(needs, fmt::format("{} of the layers in scope a multiple of {}",
                              part.is_both_ways() ? "inputs and outputs" : axis,
                              part.pattern == WeightPattern::kVenom ? part.m : 4));
}

// What a model must be like, in words.
std::vector<std::string> needs_of(const RecipeConfig& recipe) {
  std::vector<std::string> needs;
  if (!recipe.needs_activation.empty())
    needs.push_back(fmt::format("model.ffn.activation={}", recipe.needs_activation));
  for (const PhaseConfig& phase : recipe.phase) {
    add_division(needs, phase.weights);
    const ActivationsPart& part = phase.activations;
    if (!part.is_dense())
      add_once(needs, fmt::format("the FFN's hidden width a multiple of {}", part.window()));
  }
  if (needs.empty()) needs.emplace_back("nothing");
  return needs;
}

// A heading in front of the first line, the others below it.
void print_lines(const char* heading, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    fmt::print("{:<9}{}\n", i == 0 ? heading : "", lines[i]);
}

std::string use_of(const RecipeConfig& recipe, const std::string& name) {
  const std::string activation = recipe.needs_activation.empty()
                                     ? std::string()
                                     : " model.ffn.activation=" + recipe.needs_activation;
  return fmt::format("{} train recipe={}{}", command_name(), name, activation);
}

void print_one(const std::string& name) {
  const RecipeConfig recipe = read_recipe(name);
  const auto text = find_recipe(name);
  fmt::print("{}: {}\n\n", recipe.name, recipe.summary);
  if (!recipe.paper.empty()) print_lines("paper", {recipe.paper});
  print_lines("layers", {fmt::format("{}", fmt::join(recipe.layers, ", "))});
  print_lines("phases", phases_of(recipe));
  print_lines("needs", needs_of(recipe));
  print_lines("use", {use_of(recipe, name)});
  fmt::print("\n{}", text ? std::string(*text) : read_file(name));
}

}  // namespace

int run_recipes(const RecipesCommand& command) {
  if (command.name.empty()) {
    print_list();
  } else {
    print_one(command.name);
  }
  return kDone;
}

}  // namespace twill::cli
