// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_step.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/bench/bench_against.h"
#include "cli/bench/bench_setup.h"
#include "cli/planning/plan_report.h"
#include "io/atomic_file.h"
#include "measure/calls.h"
#include "ops/transfer.h"
#include "train/run/device_choice.h"
#include "train/run/run_data.h"
#include "train/step/memory_use.h"
#include "train/step/trainer.h"

namespace twill::cli {
namespace {

// Enough for caches, page faults and just-in-time kernels to settle.
constexpr int kWarmupSteps = 3;
constexpr double kAloneSeconds = 3.0;  // clocks settle within one
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
    std::vector<double> seconds;
    const double wall = wall_seconds([&] { seconds = time_steps(trainer, steps); });
    fmt::print("{{\"seconds_per_step\": {}}}\n", wall / static_cast<double>(steps));
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
  bench.kernels = profile.kernels();
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

// What the steps are timed with: the recipe as it begins, or as it is at `at`.
struct TimedRun {
  RunConfig config;
  std::function<Plan()> make_plan;  // measures it where nobody has
};

TimedRun timed_run(const Context& context, RunConfig config, const BenchCommand& command) {
  const RunConfig whole = config;
  config.recipe.health.every = 0;  // samples are no part of a step
  const bool takes_moment = command.against_dense || command.at >= 0.0;
  const auto whole_plan = [&context, whole] { return planned(context, whole); };
  if (!takes_moment) return {std::move(config), whole_plan};
  const PhaseAlone alone = phase_alone(config.recipe, config.length(), std::max(command.at, 0.0));
  config.recipe = alone.recipe;
  require(!command.against_dense || !config.recipe.is_dense(),
          "bench step --against-dense: recipe {} is dense {}; name another, as recipe=fst, or "
          "another moment of it with --at",
          config.recipe.name, command.at > 0.0 ? "then" : "at its beginning");
  // The plan is the whole run's: that is what others have measured.
  return {std::move(config),
          [whole_plan, phase = alone.phase] { return plan_of_phase(whole_plan(), phase); }};
}

int bench_against_dense(const BenchCommand& command, const Context& context, const TimedRun& run,
                        const TrainingData& data) {
  const AgainstDense result =
      measure_against_dense(context, run.config, data, run.make_plan,
                            {.rounds = command.rounds,
                             .most_block_steps = command.steps,
                             .alone_seconds = shares_memory(context) ? 0.0 : kAloneSeconds});
  fmt::print("{}", report_of(result));
  if (!command.json.empty()) write_file(command.json, to_json(json_of(result)));
  return kDone;
}

}  // namespace

int bench_step(const BenchCommand& command) {
  const RunConfig config = measured_config(command.words, /*own_model=*/false);
  const TrainingData data = open_run_data(config);
  Context context = open_context(config);
  const TimedRun run = timed_run(context, config, command);
  fmt::print("{}\n", describe_run(config, context));
  if (command.against_dense) return bench_against_dense(command, context, run, data);
  const Plan plan = run.make_plan();
  Trainer trainer(context, run.config, data, plan);
  if (!config.recipe.is_dense()) fmt::print("{}", plan_lines(plan));
  fmt::print("\n");
  StepBench bench = measure(context, trainer, command);
  bench.tokens = config.accumulation() * config.micro_batch_tokens();
  print_report(bench);
  if (!command.json.empty()) write_file(command.json, json_report(bench));
  return kDone;
}

}  // namespace twill::cli
