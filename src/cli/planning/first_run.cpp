// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/first_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/bench/bench_against.h"
#include "cli/bench/bench_setup.h"
#include "cli/bench/phase_alone.h"
#include "cli/planning/plan_summary.h"
#include "ops/packing/packed_matrix.h"
#include "train/run/device_choice.h"
#include "train/run/run_data.h"

namespace twill::cli {
namespace {

// Of the recipes that gain on a CPU the one whose loss stays nearest to dense at this size: +0.02 in
// 1,600 steps. mst is quicker by far, and ends 0.33 above dense there.
constexpr const char* kRecipe = "recipe=fst";
// The products must gain this much, so that the whole step gains measurably.
constexpr double kLeastGain = 1.1;
// Six turns of a quarter of a second each.
constexpr std::int64_t kTurns = 6;

// Of the first phase, which is the sparse one.
double expected_gain(const Plan& plan) {
  const std::vector<PhasePlan> phases = phase_plans(plan);
  return phases.empty() || !phases.front().measured ? 1.0 : phases.front().product_gain();
}

}  // namespace

std::vector<std::string> first_run_overrides() {
  const RunConfig config = measured_config({kRecipe}, /*own_model=*/true);
  const Context context = open_context(config);
  const Plan plan = planned(context, config);
  const double gain = expected_gain(plan);
  if (!packs_matrices(context, storage_type(config, context))) {
    fmt::print("there are no sparse products for {} yet: training dense\n", context.kernels().name);
    return {};
  }
  if (gain < kLeastGain) {
    const std::string why = slowing_text(plan);
    fmt::print("no sparse recipe gains on this machine at this size{}: training dense\n",
               why.empty() ? "" : " (" + why + ")");
    return {};
  }
  fmt::print(
      "{} gains on this machine, {:.2f} x in the products it makes sparse; "
      "`train recipe=dense` trains dense\n\n",
      config.recipe.name, gain);
  return {kRecipe};
}

void show_gain(const std::vector<std::string>& overrides) {
  RunConfig config = measured_config(overrides, /*own_model=*/true);
  const TrainingData data = open_run_data(config);
  const Context context = open_context(config);
  const Plan plan = planned(context, config);
  const PhaseAlone alone = phase_alone(config.recipe, config.length(), 0.0);
  const double share =
      static_cast<double>(phase_end(config.recipe.phase.front().until, config.length())) /
      static_cast<double>(config.train.steps);
  config.recipe = alone.recipe;
  config.recipe.health.every = 0;  // samples are no part of a step
  const AgainstDense result = measure_against_dense(
      context, config, data, [&] { return plan_of_phase(plan, alone.phase); }, {.rounds = kTurns});
  const double whole = run_gain({{share, result.whole_gain()}, {1.0 - share, 1.0}});
  fmt::print(
      "\nagainst dense, measured now in {} turns of {} steps: {:.1f} ms a sparse step, {:.1f} ms "
      "a dense one, {:.2f} x ({:.2f} to {:.2f});\nover a run like this one, new masks and the "
      "dense last part included, {:.2f} x\n",
      result.gain.pairs, result.block_steps, 1e3 * result.recipe_seconds,
      1e3 * result.dense_seconds, result.gain.median, result.gain.low, result.gain.high, whole);
  if (plan.slowed_by_packed > 0.0)
    fmt::print(
        "both at the lower clocks that packed products cost this device: dense steps of a run of "
        "its own would be {:.1f} % quicker\n",
        100.0 * plan.slowed_by_packed);
}

}  // namespace twill::cli
