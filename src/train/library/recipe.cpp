// SPDX-License-Identifier: Apache-2.0
#include "twill/recipe.h"

#include "base/require.h"
#include "io/config/toml_config.h"
#include "train/run/run_config.h"

namespace twill {
namespace {

RecipeConfig config_of(const std::string& toml) {
  RecipeConfig config;
  read(TomlDocument::parse_text(toml, "recipe"), config);
  return config;
}

// A name that ends so would be read as a file by whoever reads the run's config.
void require_recipe_name(const std::string& name) {
  require(!name.empty() && !name.ends_with(".toml"),
          "\"{}\" is no name for a recipe: it must not be empty or end in .toml; Recipe::named() "
          "reads files",
          name);
}

}  // namespace

Recipe::Recipe(const std::string& name) {
  require_recipe_name(name);
  RecipeConfig config;
  config.name = name;
  toml_ = write_toml(config);
}

Recipe Recipe::named(const std::string& name) {
  RecipeConfig config = read_recipe(name);
  Recipe recipe;
  recipe.toml_ = write_toml(config);
  return recipe;
}

Recipe Recipe::parse(std::string_view toml) {
  RecipeConfig config;
  read(TomlDocument::parse_text(toml, "recipe"), config);
  require_recipe_name(config.name);
  Recipe recipe;
  recipe.toml_ = write_toml(config);
  return recipe;
}

Recipe& Recipe::set(const std::string& key_equals_value) {
  TomlDocument document = TomlDocument::parse_text(toml_, "recipe");
  document.overlay(key_equals_value);
  RecipeConfig config;
  read(document, config);
  require_recipe_name(config.name);
  toml_ = write_toml(config);
  return *this;
}

Recipe& Recipe::add_phase(const std::vector<std::string>& settings) {
  TomlDocument document;
  for (const std::string& setting : settings) document.overlay(setting);
  PhaseConfig phase;
  read(document, phase);
  RecipeConfig config = config_of(toml_);
  config.phase.push_back(std::move(phase));
  toml_ = write_toml(config);
  return *this;
}

std::string Recipe::name() const { return config_of(toml_).name; }

}  // namespace twill
