// SPDX-License-Identifier: Apache-2.0
// The only place that ends the process: parses the command line, runs one command, turns exceptions
// into one line and an exit code.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/fields.h"
#include "cli/commands.h"
#include "twill/error.h"
#include "twill/version.h"

namespace twill::cli {
namespace {

struct CommandLine {
  CLI::App app{"Twill pre-trains transformers with hardware sparsity.", "twill"};
  TrainCommand train;
  SampleCommand sample;
  EvalCommand eval;
  ConfigCommand config;
  BenchCommand bench;
  bool config_help = false;
};

constexpr const char* kFooter =
    "Start with `twill train`: it needs no arguments. `twill config --help` explains every key.";

void add_words(CLI::App& command, std::vector<std::string>& words) {
  command.add_option("words", words, "[CONFIG.toml] [key=value ...]")->option_text(" ");
  command.allow_extras();
}

void describe(CommandLine& line) {
  line.app.set_version_flag("--version", std::string("twill ") + kVersion);
  line.app.require_subcommand(0, 1);
  line.app.footer(kFooter);

  CLI::App* train =
      line.app.add_subcommand("train", "train a model: [CONFIG.toml] [key=value ...]");
  add_words(*train, line.train.words);
  train->add_option("--resume", line.train.resume, "go on with this run (a name or a path)");

  CLI::App* sample = line.app.add_subcommand("sample", "let a trained model write");
  sample->add_option("RUN", line.sample.run, "name or path of a run")->required();
  sample->add_option("--prompt", line.sample.prompt, "text to continue");
  sample->add_option("--tokens", line.sample.tokens, "tokens to write")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  sample->add_option("--temperature", line.sample.temperature, "0 takes the likeliest token")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  sample->add_option("--seed", line.sample.seed, "the same seed writes the same text")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sample->add_option("--dir", line.sample.runs_dir, "folder that holds the runs")
      ->capture_default_str();
  sample->allow_extras();

  CLI::App* eval = line.app.add_subcommand("eval", "measure a run: RUN [key=value ...]");
  eval->add_option("RUN", line.eval.run, "name or path of a run")->required();
  eval->add_option("overrides", line.eval.overrides, "key=value ...")->option_text(" ");
  eval->allow_extras();

  CLI::App* config = line.app.add_subcommand(
      "config", "print the resolved configuration: [CONFIG.toml] [key=value ...]");
  add_words(*config, line.config.words);
  config->set_help_flag();
  config->add_flag("-h,--help", line.config_help, "explain every key");

  CLI::App* bench =
      line.app.add_subcommand("bench", "where the time goes: step [CONFIG.toml] [key=value ...]");
  bench->add_option("what", line.bench.what, "step")->required();
  add_words(*bench, line.bench.words);
  bench->add_option("--steps", line.bench.steps, "steps to time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100000}))
      ->capture_default_str();
  bench->add_option("--json", line.bench.json, "also write the result to this file");

  line.app.add_subcommand("info", "version, backends, CPU features, libraries");
}

// CLI11 says which word it did not expect, not which one was meant.
int reject(CommandLine& line, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  const CLI::App* command = &line.app;
  for (const CLI::App* chosen : line.app.get_subcommands()) command = chosen;
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  if (command == &line.app)
    for (const CLI::App* other : line.app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(other->get_name());
  fmt::print(stderr, "twill: unknown word '{}'; did you mean '{}'?\n", words.front(),
             nearest(words.front(), known));
  return kUserCanFix;
}

int dispatch(CommandLine& line) {
  const auto chosen = [&](const char* name) { return line.app.got_subcommand(name); };
  if (chosen("train")) return run_train(line.train);
  if (chosen("sample")) return run_sample(line.sample);
  if (chosen("eval")) return run_eval(line.eval);
  if (chosen("bench")) return run_bench(line.bench);
  if (chosen("info")) return run_info();
  if (chosen("config")) {
    if (!line.config_help) return run_config(line.config);
    fmt::print("{}", config_help());
    return kDone;
  }
  fmt::print("{}", line.app.help());
  return kDone;
}

int parse_and_run(int argc, char** argv) {
  CommandLine line;
  describe(line);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    return line.app.exit(wish);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> left = line.app.remaining(true);
    if (!left.empty()) return reject(line, left);
    fmt::print(stderr, "twill: {}\n", error.what());
    return kUserCanFix;
  }
  const std::vector<std::string> left = line.app.remaining(true);
  return left.empty() ? dispatch(line) : reject(line, left);
}

int report(const char* who, const std::exception& error, int code) {
  fmt::print(stderr, "{}{}\n", who, error.what());
  return code;
}

int report_output_failure(int error) {
  fmt::print(stderr, "twill: cannot write to standard output: {}\n", std::strerror(error));
  return kUserCanFix;
}

}  // namespace
}  // namespace twill::cli

int main(int argc, char** argv) {
  using namespace twill;
  try {
    const int code = cli::parse_and_run(argc, argv);
    if (std::fflush(stdout) == 0 || code != cli::kDone) return code;
    return cli::report_output_failure(errno);
  } catch (const Error& error) {
    return cli::report("twill: ", error, cli::kUserCanFix);
  } catch (const DeviceError& error) {
    return cli::report("twill: the device failed: ", error, cli::kDeviceFailed);
  } catch (const std::bad_alloc&) {
    return cli::report("twill: ", Error("out of memory; use a smaller model, batch or text"),
                       cli::kUserCanFix);
  } catch (const std::system_error& error) {
    // fmt throws this when standard output takes no more.
    if (std::ferror(stdout) != 0) return cli::report_output_failure(error.code().value());
    return cli::report("twill: a bug of ours, please report it: ", error, cli::kOurBug);
  } catch (const std::exception& error) {
    return cli::report("twill: a bug of ours, please report it: ", error, cli::kOurBug);
  }
}
