// SPDX-License-Identifier: Apache-2.0
#include "train/library/session_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/require.h"
#include "io/config/toml_config.h"
#include "train/library/own_examples.h"
#include "train/library/recipe_settings.h"

namespace twill {
namespace {

std::string key_of(std::string_view key_equals_value) {
  std::string key(key_equals_value.substr(0, key_equals_value.find('=')));
  const std::size_t end = key.find_last_not_of(" \t");
  key.erase(end == std::string::npos ? 0 : end + 1);
  return key.erase(0, std::min(key.size(), key.find_first_not_of(" \t")));
}

bool is_in_section(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

// The keys that were set, in settings and file.
std::vector<std::string> keys_set(const SessionOptions& options, RunConfig& config) {
  std::vector<std::string> keys;
  for (const std::string& setting : options.settings) keys.push_back(key_of(setting));
  // Of a file, what differs from the defaults: a config that a run has saved names every key.
  RunConfig defaults;
  for (const FieldDifference& difference : differences(defaults, config))
    keys.push_back(difference.key);
  return keys;
}

void require_no_data_keys(const SessionOptions& options) {
  for (const std::string& setting : options.settings) {
    const std::string key = key_of(setting);
    require(
        !is_in_section(key, "data") || key == "data.tokenizer",
        "{} cannot be set: the program gives its own data; leave the key or SessionOptions::data "
        "out",
        key);
  }
}

bool sets(const SessionOptions& options, std::string_view key) {
  return std::ranges::any_of(options.settings,
                             [&](const std::string& setting) { return key_of(setting) == key; });
}

}  // namespace

std::vector<std::string> overrides_of(const SessionOptions& options, bool is_resumed) {
  std::vector<std::string> overrides;
  if (options.recipe) {
    require(!is_resumed, "a resumed run keeps its recipe: leave SessionOptions::recipe out");
    require(!sets(options, "recipe") && !sets(options, "recipe.name"),
            "there are two recipes, the key `recipe` and SessionOptions::recipe: leave one out");
    overrides = recipe_settings(*options.recipe);
  }
  if (options.data) {
    require_no_data_keys(options);
    if (!is_resumed) {
      overrides.push_back(std::string("data.train=") + kExamplesOfAProgram);
      if (!sets(options, "train.start_from"))
        overrides.push_back(std::string("data.tokenizer=") + kNoTokenizer);
    }
  }
  overrides.insert(overrides.end(), options.settings.begin(), options.settings.end());
  return overrides;
}

void require_in_memory(const SessionOptions& options, RunConfig config) {
  struct Refused {
    std::string_view section, reason;
  };
  constexpr std::array<Refused, 3> kRefused{
      {{"run", "a session in memory has no folder; use Session::start()"},
       {"checkpoint", "a session in memory saves when save() is called; use Session::start()"},
       {"log", "the library prints nothing; show what step() returns"}}};
  for (const std::string& key : keys_set(options, config))
    for (const Refused& refused : kRefused)
      require(!is_in_section(key, refused.section), "{} cannot be set: {}", key, refused.reason);
}

}  // namespace twill
