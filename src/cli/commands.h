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

struct RunsCommand {
  std::vector<std::string> names;  // empty: all of the folder
  bool prune = false;
  bool yes = false;
  std::string runs_dir = "runs";
};
int run_runs(const RunsCommand& command);

struct SampleCommand {
  std::string run;
  std::vector<std::string> overrides;  // key=value …
  std::string prompt;
  std::int64_t tokens = 200;
  double temperature = 0.8;
  std::int64_t top_k = 0;  // 0: all tokens
  double top_p = 1.0;
  std::int64_t seed = 1;
  std::string runs_dir = "runs";
};
int run_sample(const SampleCommand& command);

struct EvalCommand {
  std::string run;                     // a run, or a Hugging Face folder
  std::vector<std::string> overrides;  // key=value …
  std::vector<std::string> tasks;      // names, or files of JSON Lines
  std::vector<std::string> texts;      // any text
  std::string data_dir;                // where the files of named tasks lie
  std::int64_t limit = 0;              // examples per task; 0: all
  std::string json;                    // file to write, may be empty
  std::string details;                 // file of JSON Lines, one per example, may be empty
};
int run_eval(const EvalCommand& command);

struct ConfigCommand {
  std::vector<std::string> words;
};
int run_config(const ConfigCommand& command);
// Every key explained, for `twill config --help`.
std::string config_help();

struct PlanCommand {
  std::vector<std::string> words;  // [CONFIG.toml] [key=value …]
  std::string json;                // file to write, may be empty
  bool fresh = false;              // measure even where a plan is kept
  bool explain = false;            // name the kernel of every product
  bool quiet = false;              // measure and keep it, print nothing
};
int run_plan(const PlanCommand& command);

struct BenchCommand {
  std::string what;                // "step", "block", "ffn", "gemm" or "tokenizer"
  std::vector<std::string> words;  // [CONFIG.toml] [key=value …], or a text
  std::int64_t steps = 10;
  std::string json;  // file to write, may be empty
  std::int64_t threads = 0;
  std::string tokenizer;       // of "tokenizer"
  bool turns = false;          // of "step": time `steps` of them for every line of standard input
  bool against_dense = false;  // of "step": in turns with a dense trainer
  std::int64_t rounds = 0;     // of "against_dense"; 0: 30, on a GPU 7
  double at = -1.0;            // of "step", "block", "ffn": fraction of the run; below 0: not given
  std::vector<std::string> shapes;    // of "gemm": "2048x512", outputs x inputs
  std::vector<std::int64_t> tokens;   // of "gemm"
  std::vector<std::string> patterns;  // of "gemm"
  double seconds = 1.0;               // of "gemm", "block", "ffn": for each comparison
};
int run_bench(const BenchCommand& command);
int bench_tokenizer(const BenchCommand& command);
int bench_gemm(const BenchCommand& command);
int bench_ffn(const BenchCommand& command);
int bench_block(const BenchCommand& command);

int run_info();

struct TokenizerTrainCommand {
  std::vector<std::string> texts;
  std::string out;
  std::int64_t vocab = 8192;
  std::string text_key = "text";
  std::int64_t min_count = 2;
  std::int64_t threads = 0;
};
int run_tokenizer_train(const TokenizerTrainCommand& command);

struct TokenizerCodeCommand {
  std::string tokenizer;
  std::string file = "-";
  std::int64_t threads = 0;
};
int run_tokenizer_encode(const TokenizerCodeCommand& command);
int run_tokenizer_decode(const TokenizerCodeCommand& command);

struct DataPrepareCommand {
  std::vector<std::string> texts;
  std::string tokenizer;
  std::string out;
  double validation = 0.005;  // share of the documents
  std::int64_t seed = 1;
  bool keep_order = false;
  std::string text_key = "text";  // of a line of JSON Lines
  std::int64_t shard_tokens = 100'000'000;
  std::int64_t threads = 0;
};
int run_data_prepare(const DataPrepareCommand& command);

struct DataInspectCommand {
  std::string file;
  std::string tokenizer;  // shows text beside ids; may be empty
  std::string text_key = "text";
  std::int64_t tokens = 64;
};
int run_data_inspect(const DataInspectCommand& command);

struct ExportCommand {
  std::string run;
  std::string to = "hf";
  std::string folder;
  std::string dtype = "f32";
  std::int64_t max_shard_bytes = 5'000'000'000;
  std::string runs_dir = "runs";
};
int run_export(const ExportCommand& command);

struct ImportCommand {
  std::string source;
  std::string name;
  std::string tokenizer;
  std::string runs_dir = "runs";
};
int run_import(const ImportCommand& command);

struct VerifyCommand {
  std::string file;
  std::string json;
  std::string runs_dir = "runs";
};
int run_verify(const VerifyCommand& command);

struct RecipesCommand {
  std::string name;  // may be empty: all of them
};
int run_recipes(const RecipesCommand& command);

struct TuneDecayCommand {
  std::vector<std::string> words;  // [CONFIG.toml] [key=value …]
  std::int64_t steps = 0;          // of each run; 0: the warm-up, at least 80
  std::vector<double> lambdas;     // empty: the usual grid
  std::string out;                 // folder of the results; empty: one in run.dir
  std::string json;                // file to write, may be empty
};
int run_tune_decay(const TuneDecayCommand& command);

struct ProbeDescentCommand {
  std::string run;
  std::int64_t steps = 20;
  std::string pattern;  // of the hard projection; empty: the recipe's
  std::string json;     // file to write, may be empty
  std::int64_t threads = 0;
  std::string runs_dir = "runs";
};
int run_probe_descent(const ProbeDescentCommand& command);

}  // namespace twill::cli
