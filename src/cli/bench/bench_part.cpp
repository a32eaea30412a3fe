// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_part.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/bench/bench_setup.h"
#include "cli/commands.h"
#include "cli/screen/moving_line.h"
#include "io/atomic_file.h"
#include "measure/turns.h"
#include "train/run/device_choice.h"
#include "train/run/sparsity_records.h"

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

std::vector<PartExecution> executions_on(const Context& context, const RunConfig& config) {
  std::vector<PartExecution> executions{PartExecution::kDense, PartExecution::kMasked};
  if (packs_matrices(context, storage_type(config, context))) {
    executions.push_back(PartExecution::kPacked);
    executions.push_back(PartExecution::kPlanned);
  }
  return executions;
}

PartBench measure_part(Context& context, const RunConfig& config, PartKind part, double seconds) {
  PartBench bench;
  MovingLine line;
  line.show(fmt::format("preparing the {}", name_of(part)));
  std::deque<PartProbe> probes;
  std::vector<std::function<void()>> steps, rare_steps;
  for (const PartExecution execution : executions_on(context, config)) {
    PartProbe& probe = probes.emplace_back(context, config, part, execution);
    probe.ordinary_step();  // enters the phase
    bench.variants.push_back({.name = name_of(execution)});
    steps.emplace_back([&probe] { probe.ordinary_step(); });
    if (probe.rare().every > 0) rare_steps.emplace_back([&probe] { probe.rare_step_and_next(); });
    bench.rare = probe.rare();
  }
  line.show("timing in turns");
  const auto variants = static_cast<double>(steps.size());
  auto times = time_in_turns(context, steps, {.seconds = variants * seconds});
  const auto rare_times = time_in_turns(context, rare_steps, kRareTurns);
  for (std::size_t i = 0; i < bench.variants.size(); ++i) {
    PartBench::Variant& variant = bench.variants[i];
    const double decay = probes[i].decay_inside_update();
    for (double& time : times[i]) time += decay;
    variant.seconds = variant.mean_seconds = median_of(times[i]);
    variant.gain = paired_ratio(times[0], times[i]);
    variant.ops = probes[i].profile();
    if (decay > 0.0) variant.ops[kDecayInUpdate] = decay;
    const bool has_rare = i > 0 && bench.rare.every > 0;  // dense steps are all alike
    if (has_rare)
      variant.mean_seconds = mean_seconds(
          variant.seconds, median_of(rare_times[i - 1]) + 2.0 * decay - variant.seconds,
          bench.rare.every);
  }
  return bench;
}

std::string cell_of(const WorkSeconds& work, const std::string& name) {
  const auto found = work.find(name);
  const bool any = found != work.end() && found->second > 0.0;
  return fmt::format("{:>12}", any ? fmt::format("{:.3f}", 1e3 * found->second) : "-");
}

// A kind that no variant has is left out; the overheads of sparsity are always there.
std::string kind_rows(const PartBench& bench) {
  std::vector<WorkSeconds> kinds;
  for (const PartBench::Variant& variant : bench.variants) kinds.push_back(by_kind(variant.ops));
  std::string rows;
  for (const std::string& kind : work_kinds()) {
    const bool any =
        std::ranges::any_of(kinds, [&](const WorkSeconds& work) { return work.contains(kind); });
    if (kind == "attention" && !any) continue;
    rows += fmt::format("{:<24}", kind);
    for (const WorkSeconds& work : kinds) rows += cell_of(work, kind);
    rows += "\n";
  }
  return rows;
}

// Every op of any variant, the longest first.
std::string op_rows(const PartBench& bench) {
  WorkSeconds longest;
  for (const PartBench::Variant& variant : bench.variants)
    for (const auto& [op, seconds] : variant.ops) longest[op] = std::max(longest[op], seconds);
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [op, seconds] : longest) order.emplace_back(-seconds, op);
  std::ranges::sort(order);
  std::string rows;
  for (const auto& [seconds, op] : order) {
    rows += fmt::format("{:<24}", op);
    for (const PartBench::Variant& variant : bench.variants) rows += cell_of(variant.ops, op);
    rows += "\n";
  }
  return rows;
}

std::string heads_of(const PartBench& bench, const char* name) {
  std::string row = fmt::format("{:<24}", name);
  for (const PartBench::Variant& variant : bench.variants)
    row += fmt::format("{:>12}", variant.name);
  return row + "\n";
}

JsonObject json_ms(const WorkSeconds& work) {
  JsonObject object;
  for (const auto& [name, seconds] : work) object.emplace_back(name, 1e3 * seconds);
  return object;
}

template <class Figure>
std::string figure_row(const PartBench& bench, const char* name, const Figure& figure) {
  std::string row = fmt::format("{:<24}", name);
  for (const PartBench::Variant& variant : bench.variants)
    row += fmt::format("{:>12.3f}", figure(variant));
  return row + "\n";
}

}  // namespace

double whole_gain(const PartBench::Variant& variant) {
  return variant.gain.median * variant.seconds / variant.mean_seconds;
}

std::string report_of(const PartBench& bench) {
  using Variant = PartBench::Variant;
  std::string text = fmt::format("{}\nrecipe {}\n\n{}{}", bench.model, bench.recipe,
                                 heads_of(bench, "ms per step"), kind_rows(bench));
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
  text += fmt::format("{:<24}{} turns\n", "", bench.variants.front().gain.pairs);
  return text + "\n" + heads_of(bench, "op, ms per step") + op_rows(bench);
}

JsonValue json_of(const PartBench& bench) {
  JsonArray variants;
  for (const PartBench::Variant& variant : bench.variants) {
    variants.push_back(JsonObject{{"execution", variant.name},
                                  {"ordinary_step_ms", 1e3 * variant.seconds},
                                  {"step_ms", 1e3 * variant.mean_seconds},
                                  {"gain", whole_gain(variant)},
                                  {"ordinary_gain", json_of(variant.gain)},
                                  {"work_ms", json_ms(by_kind(variant.ops))},
                                  {"op_ms", json_ms(variant.ops)}});
  }
  return JsonObject{{"model", bench.model},
                    {"recipe", bench.recipe},
                    {"rare_work_every", bench.rare.every},
                    {"variants", variants}};
}

namespace {

std::string describe_part(PartKind part, const RunConfig& config, const Context& context) {
  const ModelConfig& model = config.model;
  const std::string ffn = fmt::format("FFN {} -> {} -> {}, {}", model.width, model.ffn.width,
                                      model.width, model.ffn.activation);
  const std::string layers = part == PartKind::kFfn ? ffn
                                                    : fmt::format("block of width {}, {} heads, {}",
                                                                  model.width, model.heads, ffn);
  const std::string tokens =
      part == PartKind::kFfn ? fmt::format("{}", config.micro_batch_tokens())
                             : fmt::format("{} x {}", config.train.micro_batch, config.sequence());
  return fmt::format("{}, {} tokens, {} threads, {} {}", layers, tokens,
                     context.device().num_threads, context.kernels().name,
                     name_of(storage_type(config, context)));
}

int bench_part(const BenchCommand& command, PartKind part) {
  RunConfig config = measured_config(command.words, /*own_model=*/false);
  config.recipe.health.every = 0;
  const PhaseAlone alone = phase_alone(config.recipe, config.length(), moment_of(command, config));
  config.recipe = alone.recipe;
  require(!config.recipe.is_dense(),
          "bench {}: recipe {} is dense there; name one of `twill recipes`, as recipe=fst, or "
          "another moment of it with --at",
          command.what, config.recipe.name);
  Context context = open_context(config);
  PartBench bench = measure_part(context, config, part, command.seconds);
  bench.model = describe_part(part, config, context);
  bench.recipe = fmt::format("{}, phase {}: {}", config.recipe.name, alone.phase,
                             describe(config.recipe.phase.front()));
  fmt::print("{}", report_of(bench));
  if (!command.json.empty()) write_file(command.json, to_json(json_of(bench)));
  return kDone;
}

}  // namespace

int bench_ffn(const BenchCommand& command) { return bench_part(command, PartKind::kFfn); }
int bench_block(const BenchCommand& command) { return bench_part(command, PartKind::kBlock); }

}  // namespace twill::cli
