// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_step.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/text_format.h"
#include "cli/words.h"
#include "data/corpus.h"
#include "data/tokenizer.h"
#include "io/atomic_file.h"
#include "ops/transfer.h"
#include "train/device_choice.h"
#include "train/memory_use.h"
#include "train/trainer.h"
#include "train/training_run.h"

namespace twill::cli {
namespace {

// Enough for caches, page faults and just-in-time kernels to settle.
constexpr int kWarmupSteps = 3;
constexpr int kProductRepeats = 5;

// Seconds of each step.
std::vector<double> time_steps(Trainer& trainer, std::int64_t steps) {
  std::vector<double> seconds;
  for (std::int64_t step = 0; step < steps; ++step) seconds.push_back(trainer.step().seconds);
  return seconds;
}

// The same once per line of standard input, each time told in a line of its own: what
// bench/peers/compare_steps.py asks of two programs in turn.
std::vector<double> take_turns(Trainer& trainer, std::int64_t steps) {
  std::vector<double> all;
  fmt::print("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<double> seconds = time_steps(trainer, steps);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    fmt::print("{{\"seconds_per_step\": {}}}\n", wall.count() / static_cast<double>(steps));
    std::fflush(stdout);
    all.insert(all.end(), seconds.begin(), seconds.end());
  }
  return all;
}

void time_steps(Trainer& trainer, const BenchCommand& command, StepBench& bench) {
  static_cast<void>(time_steps(trainer, kWarmupSteps));
  const double counted = trainer.sparsity().flops().dense;
  bench.seconds =
      command.turns ? take_turns(trainer, command.steps) : time_steps(trainer, command.steps);
  require(!bench.seconds.empty(),
          "bench step: no step was asked for; --turns reads standard input");
  bench.model_flops =
      (trainer.sparsity().flops().dense - counted) / static_cast<double>(bench.seconds.size());
  std::ranges::sort(bench.seconds);
}

void profile_step(Context& context, Trainer& trainer, StepBench& bench) {
  StepProfile profile(context);
  context.observer = &profile;
  trainer.step();
  context.observer = nullptr;
  bench.ops = profile.ops();
  bench.product_repeats = kProductRepeats;
  bench.products = profile.measure_products(context, kProductRepeats, true);
}

// Bytes of the trainer's table; on the host with all that the process has besides.
std::int64_t table_bytes(const Context& context, const Trainer& trainer) {
  std::int64_t sum = shares_memory(context) ? resident_bytes() : 0;
  for (const MemoryLine& line : trainer.memory_table()) sum += line.bytes;
  return sum;
}

StepBench measure(Context& context, Trainer& trainer, const BenchCommand& command) {
  const KernelTable& kernels = context.kernels();
  StepBench bench;
  bench.peak_flops = context.device().peak_flops;
  bench.on_device = !shares_memory(context);
  bench.table_bytes = table_bytes(context, trainer);
  const std::int64_t free = bench.on_device ? kernels.free_bytes() : 0;
  trainer.begin();
  time_steps(trainer, command, bench);
  if (kernels.readings != nullptr) bench.readings = kernels.readings(context.device());
  bench.used_bytes = bench.on_device ? free - kernels.free_bytes() : peak_resident_bytes();
  if (command.turns) return bench;  // the other program waits for the machine
  profile_step(context, trainer, bench);
  bench.roof = measure_roof(context);  // last: its threads spin, its operands are no part of a step
  return bench;
}

std::string describe(const RunConfig& config, const Context& context) {
  const KernelTable& kernels = context.kernels();
  const std::string model =
      fmt::format("{}: {} parameters, {} x {} tokens", config.model.name,
                  format_count(static_cast<double>(num_parameters(config.model))),
                  config.train.micro_batch, config.sequence());
  if (kernels.find_device == nullptr)
    return fmt::format("{}, {} threads, {}", model, context.device().num_threads, kernels.name);
  Device device;
  return fmt::format("{}, {}, {}", model, name_of(storage_type(config, context)),
                     kernels.find_device(context.device().index, device).text);
}

}  // namespace

int bench_step(const BenchCommand& command) {
  Words words = split_words(command.words);
  // Without a model of the caller's choice: the one our own bar is set for.
  const bool own_model = std::ranges::any_of(
      words.overrides, [](const std::string& word) { return word.starts_with("model"); });
  if (words.config_file.empty() && !own_model)
    words.overrides.insert(words.overrides.begin(), "model=small");
  RunConfig config = read_run_config(words.config_file, words.overrides);
  config.recipe.health.every = 0;  // samples are no part of a step
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(data_tokenizer(config.data));
  config = resolved(config, tokenizer->vocab_size());
  const Corpus corpus =
      load_corpus(config.data, *tokenizer, {config.train.micro_batch, config.sequence()},
                  static_cast<int>(config.threads));
  Context context = open_context(config);
  Trainer trainer(context, config, corpus);
  fmt::print("{}\n\n", describe(config, context));
  StepBench bench = measure(context, trainer, command);
  bench.tokens = config.accumulation() * config.micro_batch_tokens();
  print_report(bench);
  if (!command.json.empty()) write_file(command.json, json_report(bench));
  return kDone;
}

}  // namespace twill::cli
