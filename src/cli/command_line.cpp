// SPDX-License-Identifier: Apache-2.0
// What each command takes. Only this and bench_options.cpp see CLI11.
#include "cli/command_line.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/bench_options.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/unknown_word.h"
#include "twill/version.h"

namespace twill::cli {
namespace {

constexpr const char* kRunsFooter =
    "To draw the losses of runs beside each other: tools/plot_metrics.py RUN... --out losses.svg";

struct CommandLine {
  CLI::App app{"Twill pre-trains transformers with hardware sparsity.", "twill"};
  TrainCommand train;
  RunsCommand runs;
  SampleCommand sample;
  EvalCommand eval;
  ConfigCommand config;
  PlanCommand plan;
  BenchCommand bench;
  TokenizerTrainCommand tokenizer_train;
  TokenizerCodeCommand tokenizer_encode;
  TokenizerCodeCommand tokenizer_decode;
  DataPrepareCommand data_prepare;
  DataInspectCommand data_inspect;
  ExportCommand export_model;
  ImportCommand import_model;
  VerifyCommand verify;
  RecipesCommand recipes;
  TuneDecayCommand tune_decay;
  ProbeDescentCommand probe_descent;
  bool config_help = false;
};

constexpr const char* kFooter =
    "Start with `twill train`: it needs no arguments. `twill config --help` explains every key.";

CLI::App* add_group(CommandLine& line, const char* name, const char* what) {
  CLI::App* group = add_command(line.app, name, what);
  group->require_subcommand(0, 1);
  return group;
}

void describe_training(CommandLine& line) {
  CLI::App* train = add_command(line.app, "train", "train a model: [CONFIG.toml] [key=value ...]");
  add_words(*train, line.train.words);
  train->add_option("--resume", line.train.resume, "go on with this run (a name or a path)");

  CLI::App* runs = add_command(line.app, "runs", "list the runs, or free what they no longer need");
  runs->add_option("RUN", line.runs.names, "these runs alone; without one, all of the folder");
  runs->add_flag("--prune", line.runs.prune,
                 "remove all checkpoints but the latest of each run; shows them and asks first");
  runs->add_flag("--yes", line.runs.yes, "--prune: do not ask");
  add_runs_dir(*runs, line.runs.runs_dir);
  runs->footer(kRunsFooter);

  CLI::App* config = add_command(line.app, "config",
                                 "print the resolved configuration: [CONFIG.toml] [key=value ...]");
  add_words(*config, line.config.words);
  config->set_help_flag();
  config->add_flag("-h,--help", line.config_help, "explain every key");
}

void describe_measuring(CommandLine& line) {
  CLI::App* plan = add_command(
      line.app, "plan", "what sparse layers cost and gain here: [CONFIG.toml] [key=value ...]");
  add_words(*plan, line.plan.words);
  plan->add_option("--json", line.plan.json, "also write the plan to this file");
  plan->add_flag("--fresh", line.plan.fresh, "measure again what an earlier run has measured");
  plan->add_flag("--explain", line.plan.explain,
                 "name the kernel of each product, and why a quicker one declined");
  plan->add_flag("--quiet", line.plan.quiet, "measure and keep the plan, print nothing");
  describe_bench(line.app, line.bench);
}

void describe_use(CommandLine& line) {
  CLI::App* sample = add_command(line.app, "sample", "let a trained model write");
  sample->add_option("RUN", line.sample.run, "a run (name or path), or a Hugging Face folder")
      ->required();
  sample->add_option("overrides", line.sample.overrides, "key=value ...")->option_text(" ");
  sample->add_option("--prompt", line.sample.prompt, "text to continue");
  sample->add_option("--tokens", line.sample.tokens, "tokens to write")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  sample->add_option("--temperature", line.sample.temperature, "0 takes the likeliest token")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  sample->add_option("--top-k", line.sample.top_k, "draw among the k likeliest tokens; 0: all")
      ->check(at_least(0))
      ->capture_default_str();
  sample
      ->add_option("--top-p", line.sample.top_p,
                   "draw among the likeliest tokens that together reach this probability")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  sample->add_option("--seed", line.sample.seed, "the same seed writes the same text")
      ->check(at_least(0))
      ->capture_default_str();
  add_runs_dir(*sample, line.sample.runs_dir);

  CLI::App* eval = add_command(line.app, "eval", "measure a model: RUN|HF_DIR [key=value ...]");
  eval->add_option("RUN", line.eval.run, "a run (name or path), or a Hugging Face folder")
      ->required();
  eval->add_option("overrides", line.eval.overrides, "key=value ...")->option_text(" ");
  eval->add_option("--tasks", line.eval.tasks, "task names, all, or JSON Lines files, with commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  eval->add_option("--text", line.eval.texts, "loss and bits per byte on this text")
      ->allow_extra_args(false);
  eval->add_option("--data", line.eval.data_dir, "folder with the files of the named tasks");
  eval->add_option("--limit", line.eval.limit, "examples per task; 0: all")
      ->check(at_least(0))
      ->capture_default_str();
  eval->add_option("--json", line.eval.json, "also write the results to this file");
  eval->add_option("--details", line.eval.details, "write one JSON line per example to this file");
}

void describe_text(CommandLine& line) {
  CLI::App* group = add_group(line, "tokenizer", "train a tokenizer, encode, decode");
  CLI::App* train = add_command(*group, "train", "learn a byte-level BPE from texts");
  train->add_option("TEXT", line.tokenizer_train.texts, "files, folders or globs")->required();
  train->add_option("--out", line.tokenizer_train.out, "folder to write")->required();
  train->add_option("--vocab", line.tokenizer_train.vocab, "tokens to end with")
      ->check(CLI::Range(std::int64_t{257}, std::int64_t{1} << 20))
      ->capture_default_str();
  add_text_key(*train, line.tokenizer_train.text_key);
  train->add_option("--min-count", line.tokenizer_train.min_count, "rarer pairs are not joined")
      ->check(at_least(1))
      ->capture_default_str();
  add_threads(*train, line.tokenizer_train.threads);
  const auto add_code = [&](const char* name, const char* what, TokenizerCodeCommand& command) {
    CLI::App* code = add_command(*group, name, what);
    code->add_option("--tokenizer", command.tokenizer, "\"byte\", a folder or a file")->required();
    code->add_option("FILE", command.file, "what to read; - is standard input")
        ->capture_default_str();
    add_threads(*code, command.threads);
  };
  add_code("encode", "print the ids of a text", line.tokenizer_encode);
  add_code("decode", "print the text of ids", line.tokenizer_decode);
}

void describe_data(CommandLine& line) {
  CLI::App* group = add_group(line, "data", "prepare and inspect token shards");
  CLI::App* prepare = add_command(*group, "prepare", "turn texts into token shards");
  DataPrepareCommand& command = line.data_prepare;
  prepare
      ->add_option("TEXT", command.texts,
                   "text or JSON Lines, plain or .xz, .gz, .zst; - is standard input")
      ->required();
  prepare->add_option("--tokenizer", command.tokenizer, "\"byte\", a folder or a file")->required();
  prepare->add_option("--out", command.out, "folder to write")->required();
  prepare->add_option("--validation", command.validation, "share of documents kept apart")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  prepare->add_option("--seed", command.seed, "decides the order and the validation documents")
      ->check(at_least(0))
      ->capture_default_str();
  prepare->add_flag("--keep-order", command.keep_order, "do not shuffle the documents");
  add_text_key(*prepare, command.text_key);
  prepare->add_option("--shard-tokens", command.shard_tokens, "tokens per shard")
      ->check(CLI::Range(std::int64_t{1024}, (std::int64_t{1} << 31) - 1))
      ->capture_default_str();
  add_threads(*prepare, command.threads);

  CLI::App* inspect = add_command(*group, "inspect", "show what is in a file of tokens or text");
  inspect
      ->add_option("FILE", line.data_inspect.file, "a shard, a text, or a folder made by prepare")
      ->required();
  inspect->add_option("--tokenizer", line.data_inspect.tokenizer, "show the text as well");
  add_text_key(*inspect, line.data_inspect.text_key);
  inspect->add_option("--tokens", line.data_inspect.tokens, "tokens to show")
      ->check(at_least(0))
      ->capture_default_str();
}

void describe_exchange(CommandLine& line) {
  CLI::App* out = add_command(line.app, "export", "write a model that others load");
  out->add_option("RUN", line.export_model.run, "a run (name or path), or a model file")
      ->required();
  out->add_option("DIR", line.export_model.folder, "folder to write")->required();
  out->add_option("--to", line.export_model.to, "hf: Hugging Face transformers")
      ->check(CLI::IsMember({"hf"}))
      ->capture_default_str();
  out->add_option("--dtype", line.export_model.dtype, "how weights are stored")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  out->add_option("--max-shard-bytes", line.export_model.max_shard_bytes,
                  "larger models are divided into files of this size")
      ->check(at_least(1))
      ->capture_default_str();
  add_runs_dir(*out, line.export_model.runs_dir);

  CLI::App* in = add_command(line.app, "import", "take in a model made by others");
  in->add_option("SOURCE", line.import_model.source,
                 "a Hugging Face folder, a .safetensors file, or a .bin file of llm.c or llama2.c")
      ->required();
  in->add_option("--name", line.import_model.name, "name of the run it becomes");
  in->add_option("--tokenizer", line.import_model.tokenizer, "its tokenizer, if not beside it");
  add_runs_dir(*in, line.import_model.runs_dir);

  CLI::App* verify =
      add_command(line.app, "verify", "which sparsity pattern each tensor satisfies");
  verify->add_option("FILE", line.verify.file, "a .safetensors file, a folder or a run")
      ->required();
  verify->add_option("--json", line.verify.json, "also write the table to this file");
  add_runs_dir(*verify, line.verify.runs_dir);
}

void describe_sparsity(CommandLine& line) {
  CLI::App* recipes =
      add_command(line.app, "recipes", "methods of sparsity: all, or one explained");
  recipes->add_option("NAME", line.recipes.name, "a recipe, or a TOML file");

  CLI::App* tuning = add_group(line, "tune", "find a setting by short runs");
  CLI::App* decay = add_command(
      *tuning, "decay", "strength of masked decay, by flip rates: [CONFIG.toml] [key=value ...]");
  add_words(*decay, line.tune_decay.words);
  decay
      ->add_option("--steps", line.tune_decay.steps,
                   "steps of each run; 0: the schedule's warm-up, at least 80")
      ->check(at_least(0))
      ->capture_default_str();
  decay->add_option("--lambdas", line.tune_decay.lambdas, "strengths to try, with commas")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->allow_extra_args(false);
  decay->add_option("--out", line.tune_decay.out, "folder that keeps the results of finished runs");
  decay->add_option("--json", line.tune_decay.json, "also write the table to this file");

  CLI::App* probing = add_group(line, "probe", "examine a run");
  CLI::App* descent =
      add_command(*probing, "descent", "predicted against actual change of the loss");
  ProbeDescentCommand& probe = line.probe_descent;
  descent->add_option("RUN", probe.run, "a run (name or path), or one of its checkpoints")
      ->required();
  descent->add_option("--steps", probe.steps, "training steps to examine")
      ->check(at_least(1))
      ->capture_default_str();
  descent->add_option("--pattern", probe.pattern, "hard mask to probe with, also of a dense run")
      ->check(CLI::IsMember({"2:4", "2:4-transposable"}));
  descent->add_option("--json", probe.json, "also write every step to this file");
  add_threads(*descent, probe.threads);
  add_runs_dir(*descent, probe.runs_dir);
}

void describe(CommandLine& line) {
  line.app.set_version_flag("--version", std::string("twill ") + kVersion);
  line.app.require_subcommand(0, 1);
  line.app.footer(kFooter);
  describe_training(line);
  describe_measuring(line);
  describe_use(line);
  describe_text(line);
  describe_data(line);
  describe_exchange(line);
  describe_sparsity(line);
  add_command(line.app, "info", "version, backends, CPU features, libraries");
}

// "tune decay"; empty for the program itself.
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return {};
  const std::string group = full_name(*parent);
  return group.empty() ? command.get_name() : group + " " + command.get_name();
}

// CLI11 says which word it did not expect, not which one was meant.
int reject(const CLI::App& command, const std::string& word, std::span<const std::string> line) {
  UnknownWord unknown{.word = word, .next = {}, .command = full_name(command), .known = {}};
  const auto at = std::ranges::find(line, word);
  if (at != line.end() && at + 1 != line.end()) unknown.next = at[1];
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) unknown.known.push_back("--" + name);
    const std::string name = option->get_name();
    unknown.takes_settings |= name == "words" || name == "overrides";
  }
  for (const CLI::App* other : command.get_subcommands([](const CLI::App*) { return true; }))
    unknown.known.push_back(other->get_name());
  fmt::print(stderr, "twill: {}\n", unknown_word_text(unknown));
  return kUserCanFix;
}

// The innermost command on the line.
const CLI::App& chosen_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

int run_config_command(const CommandLine& line) {
  if (!line.config_help) return run_config(line.config);
  fmt::print("{}", config_help());
  return kDone;
}

int dispatch(CommandLine& line) {
  const CLI::App& command = chosen_command(line.app);
  const std::string name = full_name(command);
  if (name == "train") return run_train(line.train);
  if (name == "runs") return run_runs(line.runs);
  if (name == "sample") return run_sample(line.sample);
  if (name == "eval") return run_eval(line.eval);
  if (name == "plan") return run_plan(line.plan);
  if (name == "bench") return run_bench(line.bench);
  if (name == "info") return run_info();
  if (name == "config") return run_config_command(line);
  if (name == "tokenizer train") return run_tokenizer_train(line.tokenizer_train);
  if (name == "tokenizer encode") return run_tokenizer_encode(line.tokenizer_encode);
  if (name == "tokenizer decode") return run_tokenizer_decode(line.tokenizer_decode);
  if (name == "data prepare") return run_data_prepare(line.data_prepare);
  if (name == "data inspect") return run_data_inspect(line.data_inspect);
  if (name == "export") return run_export(line.export_model);
  if (name == "import") return run_import(line.import_model);
  if (name == "verify") return run_verify(line.verify);
  if (name == "recipes") return run_recipes(line.recipes);
  if (name == "tune decay") return run_tune_decay(line.tune_decay);
  if (name == "probe descent") return run_probe_descent(line.probe_descent);
  fmt::print("{}", command.help());  // twill, or a group, without a command
  return kDone;
}

}  // namespace

int parse_and_run(int argc, char** argv) {
  CommandLine line;
  describe(line);
  const std::vector<std::string> words(argv + 1, argv + argc);
  narrow_bench_help(line.app, words);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    return line.app.exit(wish);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> left = line.app.remaining(true);
    if (!left.empty()) return reject(chosen_command(line.app), left.front(), words);
    fmt::print(stderr, "twill: {}\n", error.what());
    return kUserCanFix;
  }
  const std::vector<std::string> left = line.app.remaining(true);
  return left.empty() ? dispatch(line) : reject(chosen_command(line.app), left.front(), words);
}

}  // namespace twill::cli
