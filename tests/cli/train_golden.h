// SPDX-License-Identifier: Apache-2.0
// What a run of `twill train` computed, to the bit, and the files of tests/golden that hold it for
// runs of earlier builds. Nothing here knows the program but by its command and its files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace twill {

struct RunRecord {
  std::vector<double> losses;  // of each step
  std::vector<double> val;     // every validation loss of metrics.jsonl, one behind the other
  // One for each part of what is left behind, so that a difference is located:
  //   weights, moments   tensors of model and state.safetensors, the latter with its progress
  //   masks, notes       tensors and texts of sparsity.safetensors; "-" where there is none
  //   norms, health      gradient norms, and the health records of metrics.jsonl
  std::map<std::string, std::string> hashes;

  std::string text() const;
  static RunRecord parse(const std::string& text);
};

// Of a run that has ended. Steps up to `after` are left out.
RunRecord record_of(const std::string& run_folder, std::int64_t after = 0);

// A sentence about the first thing that differs; empty where nothing does. `first_step` is that of
// the first loss.
std::string difference(const RunRecord& got, const RunRecord& want, std::int64_t first_step = 1);

// Lines of one folder of tests/golden that hold for one device: one run a line, `key = record`.
// Those of the reference are in reference.txt, those of the cpu in a file named as its instruction
// set. Both depend on the C library's exp, log and so on, those of the cpu on oneDNN too: lines
// behind "needs" say on what.
class GoldenFile {
 public:
  GoldenFile(const std::string& folder, const std::string& device);

  // Why its lines say nothing on this machine, as tests/allowed_skips.txt has it; empty where they do,
  // and while they are recorded.
  std::string why_not() const;
  // Compares with the line of that key, or writes the line: see recording(). `command` is what made
  // the record, for whoever has to look into it.
  void check(const std::string& key, const RunRecord& got, const std::string& command,
             std::int64_t first_step = 1) const;

 private:
  std::string device_, path_;
};

// What is recorded in a folder of tests/golden, for this machine and for others: keys by file.
std::map<std::string, std::vector<std::string>> golden_keys(const std::string& folder);

// TWILL_RECORD_GOLDENS is set: what comes out is written down, not compared.
bool recording();

}  // namespace twill
