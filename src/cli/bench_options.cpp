// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/options.h"

namespace twill::cli {
namespace {

constexpr std::array<std::string_view, 5> kMeasured{"step", "block", "ffn", "gemm", "tokenizer"};

// The words before the colon of "gemm, block, ffn: for each comparison" say whose option it is.
bool belongs_to(std::string_view description, std::string_view what) {
  const std::string_view owners = description.substr(0, description.find(':'));
  const auto names = [&](std::string_view name) { return owners.find(name) != owners.npos; };
  const bool has_owner =
      owners.size() < description.size() && std::ranges::any_of(kMeasured, names);
  return !has_owner || names(what);
}

}  // namespace

void describe_bench(CLI::App& app, BenchCommand& command) {
  CLI::App* bench = add_command(app, "bench",
                                "where the time goes: step, block, ffn [CONFIG.toml] [key=value "
                                "...], gemm, or tokenizer TEXT");
  bench->add_option("what", command.what, "step, block, ffn, gemm or tokenizer")->required();
  add_words(*bench, command.words);
  bench->add_option("--json", command.json, "also write the result to this file");
  bench->add_option("--threads", command.threads, "gemm, tokenizer: threads to use; 0: all cores")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{4096}))
      ->capture_default_str();
  bench
      ->add_option("--steps", command.steps,
                   "step, tokenizer: steps to time, or passes over the text")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100000}))
      ->capture_default_str();
  bench->add_flag("--turns", command.turns,
                  "step: time --steps of them for every line of standard input, to take turns with "
                  "another program (bench/peers/compare_steps.py)");
  bench->add_flag(
      "--against-dense", command.against_dense,
      "step: in turns of up to --steps with a dense trainer, and their ratio; on a GPU each "
      "alone as well");
  bench->add_option("--rounds", command.rounds, "step --against-dense: turns of each; 0: 30, GPU 7")
      ->check(at_least(0))
      ->capture_default_str();
  bench
      ->add_option("--at", command.at,
                   "step, block, ffn: the recipe as it is at this fraction of a run")
      ->check(CLI::Range(0.0, 1.0));
  bench->add_option("--shapes", command.shapes, "gemm: weights as 2048x512,512x2048")
      ->delimiter(',')
      ->allow_extra_args(false);
  bench->add_option("--tokens", command.tokens, "gemm: rows of the other operand, with commas")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->allow_extra_args(false);
  bench
      ->add_option("--patterns", command.patterns,
                   "gemm: among 2:4-transposable, 2:4, V:2:8 and shares of zeros as 90%")
      ->delimiter(',')
      ->allow_extra_args(false);
  bench
      ->add_option("--seconds", command.seconds,
                   "gemm, block, ffn: for each comparison; gemm on a GPU: of each candidate")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  bench->add_option("--tokenizer", command.tokenizer, "tokenizer: \"byte\", a folder or a file");
}

void narrow_bench_help(CLI::App& app, std::span<const std::string> words) {
  if (words.size() < 2 || words[0] != "bench") return;
  const auto what = std::ranges::find(kMeasured, std::string_view(words[1]));
  if (what == kMeasured.end()) return;
  for (CLI::Option* option : app.get_subcommand("bench")->get_options())
    if (!belongs_to(option->get_description(), *what)) option->group("");
}

}  // namespace twill::cli
