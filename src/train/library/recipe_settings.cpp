// SPDX-License-Identifier: Apache-2.0
#include "train/library/recipe_settings.h"

#include <sstream>

#include <fmt/format.h>

#include "io/config/toml_config.h"
#include "sparsity/recipe/recipe.h"

namespace twill {
namespace {

// Each "key = value" of written TOML, the key in full.
std::vector<std::string> dotted_lines(const std::string& toml) {
  std::vector<std::string> lines;
  std::istringstream text(toml);
  std::string section;
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) continue;
    if (line.front() == '[') {
      section = line.substr(1, line.size() - 2) + ".";
    } else {
      lines.push_back(section + line);
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> recipe_settings(const Recipe& recipe) {
  RecipeConfig config;
  read(TomlDocument::parse_text(recipe.toml(), "recipe"), config);
  // A name that nobody knows needs a phase of its own, as in a file (read_recipe()).
  if (config.phase.empty() && !find_recipe(config.name)) config.phase.emplace_back();
  std::vector<std::string> phases;
  for (PhaseConfig& phase : config.phase)
    phases.push_back(fmt::format("{{{}}}", fmt::join(dotted_lines(write_toml(phase)), ", ")));
  config.phase.clear();
  std::vector<std::string> settings;
  for (const std::string& line : dotted_lines(write_toml(config)))
    settings.push_back("recipe." + line);
  settings.push_back(fmt::format("recipe.phase=[{}]", fmt::join(phases, ", ")));
  return settings;
}

}  // namespace twill
