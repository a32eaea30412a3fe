// SPDX-License-Identifier: Apache-2.0
// The file that lets a tuning go on: tune.jsonl, a line with the settings, then one per finished run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/studies/tune_decay.h"

namespace twill {

class DecayResults {
 public:
  // Reads the file in `folder`, or begins one. `settings` is a hash of what decides the results;
  // a file of other settings is refused.
  DecayResults(const std::string& folder, const std::string& settings, const DecayTuning& tuning);

  const std::string& path() const { return path_; }
  // nullptr when the run is still to be done.
  const DecayTrial* find(std::optional<double> lambda) const;
  // The file is written anew: whole at any moment.
  void add(const DecayTrial& trial);

 private:
  void load(const std::string& header);

  std::string path_;
  std::string text_;
  std::vector<DecayTrial> trials_;
};

}  // namespace twill
