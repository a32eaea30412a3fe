// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/plan_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "train/run/sparsity_records.h"

namespace twill::cli {
namespace {

// "ffn.input 2048 x 512": where in its block, and the weight.
std::string weight_text(const PlanEntry& entry) {
  constexpr std::string_view kBlocks = "blocks.*.";
  std::string_view site = entry.site;
  if (site.starts_with(kBlocks)) site.remove_prefix(kBlocks.size());
  return fmt::format("{}{}{} x {}", site, site.empty() ? "" : " ", entry.outputs, entry.inputs);
}

// "-" where nothing was measured.
std::string ms_text(const PlanEntry& entry, double seconds) {
  return is_measured(entry) ? fmt::format("{:.3f}", 1e3 * seconds) : "-";
}

// A product without a packed form has the dense one's time, and shows none.
std::string packed_ms_text(const PlanEntry& entry, double packed, double dense) {
  return packed != dense ? ms_text(entry, packed) : "-";
}

std::string break_even_text(const PlanEntry& entry, std::int64_t plan_tokens) {
  if (!is_measured(entry)) return "-";
  const auto tokens = break_even_tokens(entry, plan_tokens);
  return tokens ? fmt::format("{}", *tokens) : "never";
}

std::string entry_row(const PlanEntry& entry, std::int64_t plan_tokens) {
  const auto dense = [&](double seconds) { return ms_text(entry, seconds); };
  return fmt::format("{:>8}  {:<32}{:>7}  {:>8}{:>8}{:>8}  {:>8}{:>8}{:>8}  {:>8}{:>7}{:>12}  {}\n",
                     entry.layers, weight_text(entry),
                     is_measured(entry) ? fmt::format("{:.3f}", entry.density) : "-",
                     dense(entry.dense.forward), dense(entry.dense.dgrad), dense(entry.dense.wgrad),
                     packed_ms_text(entry, entry.packed.forward, entry.dense.forward),
                     packed_ms_text(entry, entry.packed.dgrad, entry.dense.dgrad),
                     packed_ms_text(entry, entry.packed.wgrad, entry.dense.wgrad),
                     dense(entry.upkeep + entry.selection),
                     is_measured(entry) ? fmt::format("{:.2f}", gain_of(entry)) : "-",
                     break_even_text(entry, plan_tokens), packed_products(entry));
}

std::string table_head() {
  return fmt::format(
      "{:>8}  {:<32}{:>7}  {:^24}  {:^24}  {:>8}{:>7}{:>12}\n"
      "{:>8}  {:<32}{:>7}  {:>8}{:>8}{:>8}  {:>8}{:>8}{:>8}  {:>8}{:>7}{:>12}  {}\n",
      "", "", "", "dense, ms", "packed, ms", "upkeep", "", "pays from", "matrices", "weight",
      "density", "forward", "dgrad", "wgrad", "forward", "dgrad", "wgrad", "ms", "gain", "tokens",
      "packed");
}

const PhasePlan* find_phase(const std::vector<PhasePlan>& phases, std::int64_t index) {
  const auto found = std::ranges::find(phases, index, &PhasePlan::phase);
  return found == phases.end() ? nullptr : &*found;
}

double share_of(const PlanReport& report, std::size_t first) {
  double share = 0.0;
  for (std::size_t index = first; index < report.shares.size(); ++index)
    share += report.shares[index];
  return share;
}

// By which share packed products slow the steps of a phase. Those before the first packed one know nothing of
// it, those behind the last have a process of their own where that saves enough.
double slowing_of(const PlanReport& report, std::int64_t index) {
  const Plan& plan = report.plan;
  const auto at = static_cast<std::size_t>(index);
  bool has_packed = false;
  for (std::int64_t phase = 0; phase <= index; ++phase) has_packed |= plan.is_packed(phase);
  if (!has_packed) return 0.0;
  if (plan.is_packed_from(index)) return plan.slowed_by_packed;
  std::size_t first = at;
  while (first > 0 && !plan.is_packed(static_cast<std::int64_t>(first) - 1)) --first;
  const double seconds = share_of(report, first) * static_cast<double>(report.steps) *
                         static_cast<double>(report.accumulation) * report.dense_step_seconds;
  return plan.slowed_by_packed * seconds > report.restart_saves ? 0.0 : plan.slowed_by_packed;
}

double gain_of_steps(const PlanReport& report, std::int64_t index, const PhasePlan* phase) {
  if (report.dense_step_seconds <= 0.0) return 1.0;
  const double slowed = slowing_of(report, index);
  return phase == nullptr || !phase->measured
             ? 1.0 / (1.0 + slowed)
             : step_gain(*phase, report.dense_step_seconds, slowed);
}

// A phase whose density moves is counted as dense: its costs are known where it is sparsest.
double gain_of_run(const PlanReport& report, const std::vector<PhasePlan>& phases) {
  std::vector<PhaseShare> shares;
  for (std::size_t at = 0; at < report.shares.size(); ++at) {
    const auto index = static_cast<std::int64_t>(at);
    const PhasePlan* phase = report.is_moving[at] ? nullptr : find_phase(phases, index);
    shares.push_back({.share = report.shares[at], .gain = gain_of_steps(report, index, phase)});
  }
  return run_gain(shares);
}

std::string phase_verdict(const PlanReport& report, const PhasePlan& phase) {
  std::string text = layers_text(phase);
  if (!phase.measured) return text + "\n";
  text += fmt::format(", expected gain of their products {:.2f}", phase.product_gain());
  if (report.dense_step_seconds > 0.0)
    text += fmt::format(", of a step {:.2f}", gain_of_steps(report, phase.phase, &phase));
  const auto index = static_cast<std::size_t>(phase.phase);
  return text + (report.is_moving[index] ? " at the phase's lowest density\n" : "\n");
}

// null where a figure is not known.
JsonValue json_if(bool known, double value) {
  if (known) return value;
  return {};
}

JsonValue json_of(const ProductSeconds& seconds) {
  return JsonObject{{"forward_ms", 1e3 * seconds.forward},
                    {"dgrad_ms", 1e3 * seconds.dgrad},
                    {"wgrad_ms", 1e3 * seconds.wgrad}};
}

JsonValue json_of(const PlanEntry& entry, std::int64_t plan_tokens) {
  JsonObject object{{"phase", entry.phase},
                    {"site", entry.site},
                    {"outputs", entry.outputs},
                    {"inputs", entry.inputs},
                    {"layers", entry.layers},
                    {"on", entry.on},
                    {"packed_products", packed_products(entry)}};
  if (!is_measured(entry)) return object;
  const auto tokens = break_even_tokens(entry, plan_tokens);
  object.emplace_back("density", entry.density);
  object.emplace_back("dense", json_of(entry.dense));
  object.emplace_back("packed", json_of(entry.packed));
  object.emplace_back("upkeep_ms", 1e3 * entry.upkeep);
  object.emplace_back("selection_ms", 1e3 * entry.selection);
  object.emplace_back("gain", gain_of(entry));
  object.emplace_back("pays_from_tokens",
                      json_if(tokens.has_value(), static_cast<double>(tokens.value_or(0))));
  return object;
}

JsonValue json_of(const PlanReport& report, const PhasePlan& phase) {
  const bool knows_step = phase.measured && report.dense_step_seconds > 0.0;
  return JsonObject{
      {"phase", phase.phase},
      {"what", report.phases[static_cast<std::size_t>(phase.phase)]},
      {"layers", phase.layers},
      {"sparse_layers", phase.sparse},
      {"expected_product_gain", json_if(phase.measured, phase.product_gain())},
      {"expected_step_gain", json_if(knows_step, gain_of_steps(report, phase.phase, &phase))}};
}

}  // namespace

// What two timings of the same work differ by.
constexpr double kSlower = 1.01;

std::string slower_text(const Plan& plan) {
  std::string text;
  for (const PhasePlan& phase : phase_plans(plan)) {
    const bool is_slower = phase.measured && phase.planned_seconds > kSlower * phase.dense_seconds;
    const bool packs_nothing =
        plan.execution == Execution::kAuto && phase.sparse == 0 && phase.masked > 0;
    if (!is_slower && !packs_nothing) continue;
    text += fmt::format("{:<9}phase {}: ", text.empty() ? "slower" : "", phase.phase);
    // Selections and simulated formats are not timed.
    text += is_slower
                ? fmt::format("as written these matrices take {}{:.2f} times as long as dense\n",
                              packs_nothing ? "at least " : "",
                              phase.planned_seconds / phase.dense_seconds)
                : "none of its products leaves zeros out here, so none is quicker than dense\n";
  }
  if (text.empty()) return text;
  return text +
         fmt::format(
             "{:<9}recipe.execution=fastest may train matrices dense, recipe=dense trains all so\n",
             "");
}

PlanReport plan_report(const RunConfig& config, Plan plan) {
  PlanReport report{.plan = std::move(plan),
                    .accumulation = config.accumulation(),
                    .steps = config.train.steps,
                    .restart_saves = config.run.restart_saves};
  std::int64_t begin = 0;
  for (const PhaseConfig& phase : config.recipe.phase) {
    const std::int64_t end = phase_end(phase.until, config.length());
    report.phases.push_back(describe(phase));
    report.shares.push_back(static_cast<double>(end - begin) /
                            static_cast<double>(config.train.steps));
    report.is_moving.push_back(phase.weights.is_topology() &&
                               phase.topology.density != phase.topology.end());
    begin = end;
  }
  return report;
}

std::string plan_table(const PlanReport& report) {
  const std::vector<PhasePlan> phases = phase_plans(report.plan);
  std::string text = fmt::format("per micro-batch of {} tokens, {} to a step; {}\n",
                                 report.plan.tokens, report.accumulation, report.plan.device);
  for (std::size_t index = 0; index < report.phases.size(); ++index) {
    const PhasePlan* phase = find_phase(phases, static_cast<std::int64_t>(index));
    text += fmt::format("\nphase {}, {:.3g}% of the steps: {}\n", index,
                        100.0 * report.shares[index], report.phases[index]);
    if (phase == nullptr) continue;
    text += table_head();
    for (const PlanEntry& entry : report.plan.layer)
      if (entry.phase == phase->phase) text += entry_row(entry, report.plan.tokens);
    text += phase_verdict(report, *phase);
  }
  if (report.plan.slows_too_much)
    text += (report.plan.execution == Execution::kFastest ? "\noff because "
                                                          : "\nnothing is packed because ") +
            slowing_text(report.plan) + "\n";
  if (report.dense_step_seconds <= 0.0) return text;
  const bool moves = std::ranges::find(report.is_moving, true) != report.is_moving.end();
  text += fmt::format("\ndense step    {:>8.1f} ms   measured\n",
                      1e3 * report.dense_step_seconds * static_cast<double>(report.accumulation));
  text += fmt::format("whole run     {:>8.2f} x    expected{}\n", gain_of_run(report, phases),
                      moves ? "; phases of changing density are counted as dense" : "");
  return text;
}

JsonValue json_of(const PlanReport& report) {
  const std::vector<PhasePlan> phases = phase_plans(report.plan);
  JsonArray layers, by_phase;
  for (const PlanEntry& entry : report.plan.layer)
    layers.push_back(json_of(entry, report.plan.tokens));
  for (const PhasePlan& phase : phases) by_phase.push_back(json_of(report, phase));
  const bool knows_step = report.dense_step_seconds > 0.0;
  const double step = report.dense_step_seconds * static_cast<double>(report.accumulation);
  return JsonObject{{"execution", std::string(word_of(report.plan.execution))},
                    {"device", report.plan.device},
                    {"tokens", report.plan.tokens},
                    {"micro_batches", report.accumulation},
                    {"slowed_by_packed", report.plan.slowed_by_packed},
                    {"slows_too_much", report.plan.slows_too_much},
                    {"dense_step_ms", json_if(knows_step, 1e3 * step)},
                    {"expected_run_gain", json_if(knows_step, gain_of_run(report, phases))},
                    {"phases", by_phase},
                    {"layer", layers}};
}

std::string plan_lines(const Plan& plan) {
  constexpr const char* kHead = "plan";
  if (plan.layer.empty())
    return fmt::format("{:<9}masked: products multiply the zeros too\n", kHead);
  std::string text;
  for (const PhasePlan& phase : phase_plans(plan)) {
    text += fmt::format("{:<9}phase {}: {}", text.empty() ? kHead : "", phase.phase,
                        layers_text(phase));
    if (phase.measured && phase.sparse > 0)
      text += fmt::format("; expected gain of their products {:.2f}", phase.product_gain());
    text += "\n";
    for (const PlanEntry& entry : plan.layer) {
      if (entry.phase != phase.phase) continue;
      const LayerState state = state_of(entry);
      const char* what = state == LayerState::kPacked ? "packed " : "";
      text += fmt::format("{:<11}{} of {}: {}{}\n", "", entry.layers, weight_text(entry), what,
                          packed_products(entry));
    }
  }
  if (plan.slows_too_much) text += fmt::format("{:<11}{}\n", "", slowing_text(plan));
  return text + slower_text(plan);
}

}  // namespace twill::cli
