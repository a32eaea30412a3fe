// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_ffn.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/bench_setup.h"
#include "cli/commands.h"
#include "cli/moving_line.h"
#include "io/atomic_file.h"
#include "train/device_choice.h"
#include "train/sparsity_records.h"

namespace twill::cli {
namespace {

constexpr TurnLimits kRareTurns{.fewest = 3, .most = 3, .seconds = 0.0};

// The first phase that asks something of the weights, unless the caller has said which.
double moment_of(const BenchCommand& command, const RunConfig& config) {
  if (command.at >= 0.0) return command.at;
  const RunLength length = config.length();
  std::int64_t begin = 0;
  for (const PhaseConfig& phase : config.recipe.phase) {
    if (!phase.is_dense()) break;
    begin = phase_end(phase.until, length);
  }
  return (static_cast<double>(begin) + 0.5) / static_cast<double>(length.steps);
}

std::vector<FfnExecution> executions_on(const Context& context, const RunConfig& config) {
  std::vector<FfnExecution> executions{FfnExecution::kDense, FfnExecution::kMasked};
  if (packs_matrices(context, storage_type(config, context))) {
    executions.push_back(FfnExecution::kPacked);
    executions.push_back(FfnExecution::kPlanned);
  }
  return executions;
}

FfnBench measure_ffn(Context& context, const RunConfig& config, double seconds) {
  FfnBench bench;
  MovingLine line;
  line.show("preparing the FFN");
  std::deque<FfnProbe> probes;
  std::vector<std::function<void()>> steps, rare_steps;
  for (const FfnExecution execution : executions_on(context, config)) {
    FfnProbe& probe = probes.emplace_back(context, config, execution);
    probe.ordinary_step();  // enters the phase
    bench.variants.push_back({.name = name_of(execution)});
    steps.emplace_back([&probe] { probe.ordinary_step(); });
    if (probe.rare().every > 0) rare_steps.emplace_back([&probe] { probe.rare_step_and_next(); });
    bench.rare = probe.rare();
  }
  line.show("timing in turns");
  const auto variants = static_cast<double>(steps.size());
  const auto times = time_in_turns(context, steps, {.seconds = variants * seconds});
  const auto rare_times = time_in_turns(context, rare_steps, kRareTurns);
  for (std::size_t i = 0; i < bench.variants.size(); ++i) {
    FfnBench::Variant& variant = bench.variants[i];
    variant.seconds = variant.mean_seconds = median_of(times[i]);
    variant.gain = paired_ratio(times[0], times[i]);
    variant.work = probes[i].profile();
    const bool has_rare = i > 0 && bench.rare.every > 0;  // dense steps are all alike
    if (has_rare)
      variant.mean_seconds = mean_seconds(
          variant.seconds, median_of(rare_times[i - 1]) - variant.seconds, bench.rare.every);
  }
  return bench;
}

std::string work_row(const FfnBench& bench, const std::string& kind) {
  std::string row = fmt::format("{:<24}", kind);
  for (const FfnBench::Variant& variant : bench.variants) {
    const auto found = variant.work.find(kind);
    const bool any = found != variant.work.end() && found->second > 0.0;
    row += fmt::format("{:>12}", any ? fmt::format("{:.3f}", 1e3 * found->second) : "-");
  }
  return row + "\n";
}

template <class Figure>
std::string figure_row(const FfnBench& bench, const char* name, const Figure& figure) {
  std::string row = fmt::format("{:<24}", name);
  for (const FfnBench::Variant& variant : bench.variants)
    row += fmt::format("{:>12.3f}", figure(variant));
  return row + "\n";
}

}  // namespace

double whole_gain(const FfnBench::Variant& variant) {
  return variant.gain.median * variant.seconds / variant.mean_seconds;
}

std::string report_of(const FfnBench& bench) {
  using Variant = FfnBench::Variant;
  std::string text =
      fmt::format("{}\nrecipe {}\n\n{:<24}", bench.model, bench.recipe, "ms per step");
  for (const Variant& variant : bench.variants) text += fmt::format("{:>12}", variant.name);
  text += "\n";
  for (const std::string& kind : work_kinds()) text += work_row(bench, kind);
  text += figure_row(bench, "whole step, in turns",
                     [](const Variant& variant) { return 1e3 * variant.mean_seconds; });
  if (bench.rare.every > 0)
    text += fmt::format("{:<24}{} every {} steps, spread over them\n", "", bench.rare.what,
                        bench.rare.every);
  text += figure_row(bench, "gain", whole_gain);
  text += figure_row(bench, "gain of ordinary steps",
                     [](const Variant& variant) { return variant.gain.median; });
  text += figure_row(bench, "  95 % from", [](const Variant& variant) { return variant.gain.low; });
  text += figure_row(bench, "       to", [](const Variant& variant) { return variant.gain.high; });
  return text + fmt::format("{:<24}{} turns\n", "", bench.variants.front().gain.pairs);
}

JsonValue json_of(const FfnBench& bench) {
  JsonArray variants;
  for (const FfnBench::Variant& variant : bench.variants) {
    JsonObject work;
    for (const auto& [kind, seconds] : variant.work) work.emplace_back(kind, 1e3 * seconds);
    variants.push_back(JsonObject{{"execution", variant.name},
                                  {"ordinary_step_ms", 1e3 * variant.seconds},
                                  {"step_ms", 1e3 * variant.mean_seconds},
                                  {"gain", whole_gain(variant)},
                                  {"ordinary_gain", json_of(variant.gain)},
                                  {"work_ms", work}});
  }
  return JsonObject{{"model", bench.model},
                    {"recipe", bench.recipe},
                    {"rare_work_every", bench.rare.every},
                    {"variants", variants}};
}

int bench_ffn(const BenchCommand& command) {
  RunConfig config = measured_config(command.words, /*own_model=*/false);
  config.recipe.health.every = 0;
  const PhaseAlone alone = phase_alone(config.recipe, config.length(), moment_of(command, config));
  config.recipe = alone.recipe;
  require(!config.recipe.is_dense(),
          "bench ffn: recipe {} is dense there; name one of `twill recipes`, as recipe=fst, or "
          "another moment of it with --at",
          config.recipe.name);
  Context context = open_context(config);
  FfnBench bench = measure_ffn(context, config, command.seconds);
  bench.model = fmt::format("FFN {} -> {} -> {}, {}, {} tokens, {} threads, {}", config.model.width,
                            config.model.ffn.width, config.model.width, config.model.ffn.activation,
                            config.micro_batch_tokens(), context.device().num_threads,
                            context.kernels().name);
  bench.recipe = fmt::format("{}, phase {}: {}", config.recipe.name, alone.phase,
                             describe(config.recipe.phase.front()));
  fmt::print("{}", report_of(bench));
  if (!command.json.empty()) write_file(command.json, to_json(json_of(bench)));
  return kDone;
}

}  // namespace twill::cli
