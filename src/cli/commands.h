// SPDX-License-Identifier: Apache-2.0
// The commands a person types. Each returns the exit code and throws what main() turns into one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace twill::cli {

constexpr int kDone = 0;
constexpr int kOurBug = 1;
constexpr int kUserCanFix = 2;
constexpr int kDeviceFailed = 3;
constexpr int kInterrupted = 130;

struct TrainCommand {
  std::vector<std::string> words;  // [CONFIG.toml] [key=value …]
  std::string resume;
};
int run_train(const TrainCommand& command);

struct SampleCommand {
  std::string run;
  std::string prompt;
  std::int64_t tokens = 200;
  double temperature = 0.8;
  std::int64_t seed = 1;
  std::string runs_dir = "runs";
};
int run_sample(const SampleCommand& command);

struct EvalCommand {
  std::string run;
  std::vector<std::string> overrides;
};
int run_eval(const EvalCommand& command);

struct ConfigCommand {
  std::vector<std::string> words;
};
int run_config(const ConfigCommand& command);
// Every key explained, for `twill config --help`.
std::string config_help();

struct BenchCommand {
  std::string what;                // "step"
  std::vector<std::string> words;  // [CONFIG.toml] [key=value …]
  std::int64_t steps = 10;
  std::string json;  // file to write, may be empty
};
int run_bench(const BenchCommand& command);

int run_info();

}  // namespace twill::cli
