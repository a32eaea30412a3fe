// SPDX-License-Identifier: Apache-2.0
// A run lives in a folder: config.toml, metrics.jsonl, checkpoints/step-00000120/…
// (docs/run_folder.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "io/folder.h"
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
  // object. A file system without locks that work is said.
  void lock();
  void lock(const LockCall& call);  // for tests

  // The folder that was opened, whatever has become of its name. What is written below it follows no
  // links.
  Folder held() const;
  Folder held_checkpoints() const { return held().make("checkpoints"); }
  void write(const std::string& name, std::string_view content);
  void write_tokenizer(const std::vector<TokenizerFile>& files);
  // metrics.jsonl is there: save_with() reads it even when it is deleted.
  void hold_metrics();

  // Saves by `write`, which is given this run and returns where. When its folder is gone or another
  // one has its name, the run goes into RUN-rescued beside it, `write` is given that one, and an
  // error says so.
  using SaveRun = std::function<std::string(RunFolder&)>;
  std::string save_with(const SaveRun& write);

  // The checkpoint that open() named, or the newest one; empty when there is none.
  std::string checkpoint() const;
  // The same, but no checkpoint is an error.
  std::string require_checkpoint() const;

  // The saved config with the command line's pairs over it.
  RunConfig read_config(const std::vector<std::string>& overrides = {}) const;

 private:
  explicit RunFolder(std::string path, std::string checkpoint = {});

  bool is_whole() const;
  bool stays_whole() const;
  std::optional<std::string> save_here(const SaveRun& write);
  void keep_files();
  RunFolder make_beside() const;

  std::string path_;
  std::string absolute_;  // what path_ meant when it was opened
  std::string checkpoint_;
  std::optional<Folder> folder_;
  std::map<std::string, std::string> kept_;  // small files, by their names below the folder
  std::optional<HeldFile> metrics_;
};

// The tokenizer of a run: its own copy where it has one, else what the config says; nullptr for
// kNoTokenizer.
std::unique_ptr<Tokenizer> open_run_tokenizer(const RunFolder& folder, const RunConfig& config);
// Makes that copy.
void save_run_tokenizer(RunFolder& folder, const Tokenizer* tokenizer);

// The word as a shell reads it back: quoted where it has to be.
std::string shell_quoted(const std::string& word);

}  // namespace twill
