// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/first_run.h"

#include <fmt/format.h>

#include "cli/bench/bench_against.h"
#include "cli/bench/bench_setup.h"
#include "cli/bench/phase_alone.h"
#include "cli/planning/plan_summary.h"
#include "train/run/device_choice.h"
#include "train/run/run_data.h"

namespace twill::cli {
namespace {

// Six turns of a quarter of a second each.
constexpr std::int64_t kTurns = 6;

}  // namespace

void show_first_gain() {
  RunConfig config = measured_config({}, /*own_model=*/true, NoRecipe::kPreset);
  const Context context = open_context(config);
  const Plan plan = planned(context, config);
  if (!plan.is_packed(0)) return;
  const TrainingData data = open_run_data(config);
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
