// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_against.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/planning/plan_summary.h"
#include "cli/screen/moving_line.h"
#include "ops/transfer.h"
#include "train/run/sparsity_records.h"
#include "train/step/trainer.h"

namespace twill::cli {
namespace {

// Where a step takes long, it need not come as often: one that accumulates warms up on its way.
constexpr int kTurnWarmup = 3;
constexpr double kWarmSeconds = 4.0;
// Long enough that what the other trainer has left in the caches is a small part of it.
constexpr double kBlockSeconds = 0.25;
constexpr int kRareRepeats = 5;
constexpr double kRareSeconds = 15.0;

class RecipeSteps {
 public:
  RecipeSteps(Trainer& trainer, const RareWork& rare) : trainer_(trainer), rare_(rare) {}

  // Ordinary steps: those that do rare work are left out.
  double ordinary() {
    const std::int64_t step = trainer_.progress().step;
    if (rare_.every > 0 && rare_.next(step) == step) ++trainer_.progress().step;
    return trainer_.step().seconds;
  }

  // With the step behind it, which may have to arrange what the rare one has left. A topology moves
  // in no run's last step: near the end there is nothing to time.
  double rare_and_next() {
    trainer_.progress().step = rare_.next(trainer_.progress().step);
    const double seconds = trainer_.step().seconds;
    return seconds + trainer_.step().seconds;
  }

 private:
  Trainer& trainer_;
  const RareWork& rare_;
};

template <class Body>
double mean_of(std::int64_t count, Body body) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += body();
  return sum / static_cast<double>(count);
}

// The median of a trainer's steps with nobody else at work.
template <class Step>
double alone(const char* whose, double seconds, const Step& step) {
  MovingLine line;
  line.show(whose, 0, 1);
  for (double spent = 0.0; spent < 2.0 / 3.0 * seconds;) spent += step();
  std::vector<double> times;
  for (double spent = 0.0; spent < seconds; spent += times.back()) times.push_back(step());
  return median_of(times);
}

RunConfig dense_twin(RunConfig config) {
  config.recipe = RecipeConfig();
  config.recipe.health.every = 0;
  config.plan.clear();
  return config;
}

}  // namespace

double AgainstDense::mean_recipe_seconds() const {
  return mean_seconds(recipe_seconds, recipe_seconds + rare_seconds, rare.every);
}

double AgainstDense::whole_gain() const {
  return gain.median * recipe_seconds / mean_recipe_seconds();
}

double AgainstDense::gain_alone() const {
  const double rare_part = mean_recipe_seconds() - recipe_seconds;
  return dense_alone_seconds / (recipe_alone_seconds + rare_part);
}

AgainstDense measure_against_dense(const Context& context, const RunConfig& config,
                                   const TrainingData& data, const std::function<Plan()>& make_plan,
                                   const AgainstRequest& request) {
  const PhaseConfig phase =
      config.recipe.phase.empty() ? PhaseConfig() : config.recipe.phase.front();
  AgainstDense result{.recipe = config.recipe.name,
                      .phase = describe(phase),
                      .tokens = config.accumulation() * config.micro_batch_tokens(),
                      .rare = rare_work(phase, config.train.steps)};
  Trainer dense(context, dense_twin(config), data, Plan());
  dense.begin();
  if (request.alone_seconds > 0.0)
    result.dense_alone_seconds =
        alone("dense alone", request.alone_seconds, [&] { return dense.step().seconds; });
  const Plan plan = make_plan();
  const std::vector<PhasePlan> planned_phases = phase_plans(plan);
  result.layers = planned_phases.empty() ? "masked" : layers_text(planned_phases.front());
  Trainer sparse(context, config, data, plan);
  sparse.begin();
  RecipeSteps steps(sparse, result.rare);
  double warm = 0.0, warming = 0.0;
  for (int i = 0; i < kTurnWarmup && warming < kWarmSeconds; ++i) {
    warm = dense.step().seconds;
    warming += warm + sparse.step().seconds;
  }
  result.block_steps =
      std::clamp<std::int64_t>(std::llround(std::ceil(kBlockSeconds / warm)), 1,
                               std::max<std::int64_t>(request.most_block_steps, 1));
  const std::int64_t usual = shares_memory(context) ? 30 : 7;
  const std::int64_t rounds = request.rounds > 0 ? request.rounds : usual;
  std::vector<double> dense_times, sparse_times;
  MovingLine line;
  for (std::int64_t round = 0; round < rounds; ++round) {
    line.show("dense and recipe in turns", round, rounds);
    dense_times.push_back(mean_of(result.block_steps, [&] { return dense.step().seconds; }));
    sparse_times.push_back(mean_of(result.block_steps, [&] { return steps.ordinary(); }));
  }
  result.dense_seconds = median_of(dense_times);
  result.recipe_seconds = median_of(sparse_times);
  result.gain = paired_ratio(dense_times, sparse_times);
  if (request.alone_seconds > 0.0)
    result.recipe_alone_seconds =
        alone("recipe alone", request.alone_seconds, [&] { return steps.ordinary(); });
  if (result.rare.every > 0) {
    std::vector<double> more;
    double spent = 0.0;
    for (int i = 0; i < kRareRepeats && spent < kRareSeconds; ++i) {
      const double two_steps = 2.0 * mean_of(2, [&] { return steps.ordinary(); });
      const double with_rare = steps.rare_and_next();
      more.push_back(with_rare - two_steps);
      spent += with_rare + two_steps;
    }
    result.rare_seconds = std::max(0.0, median_of(more));
  }
  return result;
}

std::string report_of(const AgainstDense& result) {
  std::string text =
      fmt::format("recipe {}: {}; {}\n\n", result.recipe, result.phase, result.layers);
  const auto rate = [&](double seconds) { return static_cast<double>(result.tokens) / seconds; };
  text += fmt::format("{:<14}{:>10}{:>12}\n", "", "ms", "tokens/s");
  text += fmt::format("{:<14}{:>10.2f}{:>12.0f}   median of {} turns of {} steps\n", "dense step",
                      1e3 * result.dense_seconds, rate(result.dense_seconds), result.gain.pairs,
                      result.block_steps);
  text += fmt::format("{:<14}{:>10.2f}{:>12.0f}\n", "recipe's step", 1e3 * result.recipe_seconds,
                      rate(result.recipe_seconds));
  // Fewer pairs have no such interval (measure/ratio.h).
  const char* interval = result.gain.pairs > 5 ? "95 % interval" : "smallest to largest,";
  text += fmt::format("{:<14}{:>10.3f}{:>12}   {} {:.3f} to {:.3f}\n", "gain", result.gain.median,
                      "", interval, result.gain.low, result.gain.high);
  if (result.rare.every > 0) {
    text += fmt::format("{:<14}{:>10.2f}{:>12}   more for {}, every {} steps\n", "rare work",
                        1e3 * result.rare_seconds, "", result.rare.what, result.rare.every);
    text += fmt::format("{:<14}{:>10.3f}{:>12.0f}\n", "gain with it", result.whole_gain(),
                        rate(result.mean_recipe_seconds()));
  }
  if (result.dense_alone_seconds == 0.0) return text;
  text += fmt::format("{:<14}{:>10.2f}{:>12.0f}   before any sparse product in this process\n",
                      "dense alone", 1e3 * result.dense_alone_seconds,
                      rate(result.dense_alone_seconds));
  text += fmt::format("{:<14}{:>10.2f}{:>12.0f}\n", "recipe alone",
                      1e3 * result.recipe_alone_seconds, rate(result.recipe_alone_seconds));
  text += fmt::format("{:<14}{:>10.3f}{:>12}   such steps over those of a dense run of its own\n",
                      "gain alone", result.gain_alone(), "");
  return text;
}

JsonValue json_of(const AgainstDense& result) {
  JsonObject object{{"recipe", result.recipe},
                    {"phase", result.phase},
                    {"layers", result.layers},
                    {"dense_step_ms", 1e3 * result.dense_seconds},
                    {"recipe_step_ms", 1e3 * result.recipe_seconds},
                    {"block_steps", result.block_steps},
                    {"gain", json_of(result.gain)},
                    {"gain_with_rare_work", result.whole_gain()}};
  if (result.dense_alone_seconds > 0.0) {
    object.emplace_back("dense_alone_ms", 1e3 * result.dense_alone_seconds);
    object.emplace_back("recipe_alone_ms", 1e3 * result.recipe_alone_seconds);
    object.emplace_back("gain_alone", result.gain_alone());
  }
  if (result.rare.every <= 0) return object;
  object.emplace_back("rare_work", result.rare.what);
  object.emplace_back("rare_work_every", result.rare.every);
  object.emplace_back("rare_work_ms", 1e3 * result.rare_seconds);
  return object;
}

}  // namespace twill::cli
