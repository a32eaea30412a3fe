// SPDX-License-Identifier: Apache-2.0
// A run lives in a folder: config.toml, metrics.jsonl, checkpoints/step-00000120/…
// (docs/run_folder.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "train/run/run_config.h"

namespace twill {

class RunFolder {
 public:
  // A new folder for this config: run.dir/run.name, or the next free name. An existing one is
  // refused.
  static RunFolder create(const RunConfig& config);

  // An existing run, given as a name in run.dir, a path, or the path of one of its checkpoints.
  static RunFolder open(const std::string& run, const std::string& runs_dir);
  // The same; empty when there is no such run.
  static std::optional<RunFolder> find(const std::string& run, const std::string& runs_dir);

  const std::string& path() const { return path_; }
  std::string name() const;
  std::string config_file() const { return path_ + "/config.toml"; }
  std::string facts_file() const { return path_ + "/facts.json"; }
  std::string metrics_file() const { return path_ + "/metrics.jsonl"; }
  std::string plan_file() const { return path_ + "/plan.toml"; }
  std::string choices_file() const { return path_ + "/choices.txt"; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  // The run's own copy of its tokenizer; absent for "byte", which has no files.
  std::string tokenizer_dir() const { return path_ + "/tokenizer"; }

  // Takes the run for this process; refused while another one trains it. Held as long as this
  // object.
  void lock();

  // The checkpoint that open() named, or the newest one; empty when there is none.
  std::string checkpoint() const;
  // The same, but no checkpoint is an error.
  std::string require_checkpoint() const;

  // The saved config with the command line's pairs over it.
  RunConfig read_config(const std::vector<std::string>& overrides = {}) const;

 private:
  explicit RunFolder(std::string path, std::string checkpoint = {});

  std::string path_;
  std::string checkpoint_;
  std::shared_ptr<void> lock_;
};

// The tokenizer of a run: its own copy where it has one, else what the config says; nullptr for
// kNoTokenizer.
std::unique_ptr<Tokenizer> open_run_tokenizer(const RunFolder& folder, const RunConfig& config);
// Makes that copy.
void save_run_tokenizer(const RunFolder& folder, const Tokenizer* tokenizer);

// The word as a shell reads it back: quoted where it has to be.
std::string shell_quoted(const std::string& word);

}  // namespace twill
