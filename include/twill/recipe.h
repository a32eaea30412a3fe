// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twill {

// A method of sparse training as a value: a list of phases over the parts of docs/recipes.md. No file is
// needed, and none is kept: a run saves the whole recipe in its config.
//
//   twill::Recipe recipe("mine");
//   recipe.add_phase({"until=5/6", "weights.pattern=2:4", "decay.on=gradients", "decay.lambda=6e-5"});
//   recipe.add_phase({});  // dense to the end
//
// Every function throws twill::Error for a key or a value that does not exist. Whether the phases fit one
// another and the run is known when a session opens with them.
class Recipe {
 public:
  // Without phases: dense. The name is shown and saved; ".toml" at its end is refused, a name of
  // `twill recipes` may be taken and then says nothing.
  explicit Recipe(const std::string& name);

  // One of `twill recipes`, or a TOML file, whose name ends in .toml.
  static Recipe named(const std::string& name);
  // The text of such a file.
  static Recipe parse(std::string_view toml);

  // "layers=attention", "execution=masked", "health.every=10"; a phase by its number from 0:
  // "phase.0.decay.lambda=1e-5".
  Recipe& set(const std::string& key_equals_value);
  // A phase behind the others: keys without "phase.N". One without keys is dense to the end.
  Recipe& add_phase(const std::vector<std::string>& settings);

  std::string name() const;
  // Every value, defaults included; parse() reads it back.
  const std::string& toml() const { return toml_; }

  friend bool operator==(const Recipe&, const Recipe&) = default;

 private:
  Recipe() = default;
  std::string toml_;
};

}  // namespace twill
