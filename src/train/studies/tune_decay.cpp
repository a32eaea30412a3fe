// SPDX-License-Identifier: Apache-2.0
#include "train/studies/tune_decay.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/hash.h"
#include "base/require.h"
#include "io/config/toml_config.h"
#include "train/model/any_model.h"
#include "train/run/device_choice.h"
#include "train/run/run_data.h"
#include "train/run/sparsity_records.h"
#include "train/run/training_run.h"
#include "train/step/trainer.h"
#include "train/studies/decay_results.h"

namespace twill {
namespace {

// FST's grid goes on at least to 2e-4; models of the paper span 1e-6 to 2e-3.
constexpr double kGrid[] = {0, 6e-7, 2e-6, 6e-6, 2e-5, 6e-5, 2e-4, 6e-4, 2e-3};
constexpr std::int64_t kLeastSteps = 80;
constexpr std::int64_t kSamples = 40;

std::size_t decaying_phase(const RecipeConfig& recipe) {
  const auto found = std::ranges::find_if(
      recipe.phase, [](const PhaseConfig& phase) { return phase.decay.on != DecayOn::kNone; });
  require(found != recipe.phase.end(),
          "recipe {} has no masked decay to tune: no phase sets decay.on; choose one that does, as "
          "recipe=fst or recipe=sr-ste, or set recipe.phase.0.decay.on=gradients",
          recipe.name);
  return static_cast<std::size_t>(found - recipe.phase.begin());
}

std::int64_t steps_of(const DecayTuneRequest& request, const RunConfig& config) {
  if (request.steps == 0)
    return std::min(config.train.steps, std::max(kLeastSteps, config.schedule.warmup_steps));
  require(request.steps <= config.train.steps,
          "--steps {} is more than the run itself has: train.steps = {}", request.steps,
          config.train.steps);
  return request.steps;
}

RecipeConfig one_phase(RecipeConfig recipe, PhaseConfig phase) {
  phase.until = "1.0";
  recipe.phase = {std::move(phase)};
  // A trial that thrashes is to be measured to its end.
  recipe.on_alarm = OnAlarm::kWarn;
  recipe.execution = Execution::kMasked;  // every layer takes part, whether it pays or not
  return recipe;
}

// What decides the results, as one short text: not where the run lies, how it is watched, or the
// strengths to be tried.
std::string settings_hash(RunConfig config, std::size_t phase) {
  config.run = {};
  config.threads = 0;
  config.eval = {};
  config.checkpoint = {};
  config.log = {};
  config.recipe.health = {};
  config.recipe.phase[phase].decay.lambda = 0.0;
  const std::string text = write_toml(config);
  return hash_text(hash_bytes(text.data(), text.size()));
}

// Everything the runs share.
class Bench {
 public:
  explicit Bench(const DecayTuneRequest& request)
      : config_(read_run_config(request.config_file, request.overrides)) {
    phase_ = decaying_phase(config_.recipe);
    if (!config_.train.start_from.empty()) {
      start_.emplace(find_model(config_.train.start_from, config_.run.dir));
      config_ = started_from(*start_, config_);
    }
    const RunSetup setup = set_up(config_);
    config_ = setup.config;
    data_ = open_run_data(config_, setup.tokenizer.get());
    config_.data.hash = data_.hash;
    context_.emplace(open_context(config_));
    keep_choice(config_, *context_);  // trials of one device are not those of another
  }

  const RunConfig& config() const { return config_; }
  std::size_t phase() const { return phase_; }

  // Empty when a stop was asked for.
  std::optional<DecayTrial> run(std::optional<double> lambda, const DecayTuning& tuning,
                                const std::atomic<bool>& stop) const {
    RunConfig config = config_;
    config.recipe = lambda ? decaying_recipe(config.recipe, phase_, *lambda)
                           : dense_recipe(config.recipe, phase_);
    config.recipe.health = {.every = tuning.every};
    validate(config.recipe, config.length());
    Trainer trainer(*context_, config, data_);
    trainer.begin();
    if (start_) load_start(*start_, trainer);
    return measure(trainer, {.lambda = lambda}, tuning.steps, stop);
  }

 private:
  static std::optional<DecayTrial> measure(Trainer& trainer, DecayTrial trial, std::int64_t steps,
                                           const std::atomic<bool>& stop) {
    const std::int64_t first = steps - (steps + 3) / 4;  // of the last quarter, counted from 0
    double flips = 0.0, samples = 0.0, losses = 0.0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::optional<StepResult> result = trainer.step_unless(stop);
      if (!result) return std::nullopt;
      if (!result->finite) {
        trial.diverged = true;
        return trial;
      }
      const std::optional<HealthSample> sample = trainer.sparsity().take_sample();
      if (step < first) continue;
      losses += result->loss;
      if (!sample) continue;
      flips += sample->overall.flip_rate;
      samples += 1.0;
    }
    trial.flip_rate = flips / samples;
    trial.loss = losses / static_cast<double>(steps - first);
    return trial;
  }

  RunConfig config_;
  std::optional<AnyModel> start_;
  TrainingData data_;
  std::optional<Context> context_;
  std::size_t phase_ = 0;
};

std::vector<double> grid_of(const DecayTuneRequest& request) {
  std::vector<double> grid = request.lambdas;
  if (grid.empty()) grid.assign(std::begin(kGrid), std::end(kGrid));
  for (const double lambda : grid)
    require(std::isfinite(lambda) && lambda >= 0.0, "--lambdas: {} is not a strength from 0 on",
            lambda);
  std::ranges::sort(grid);
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

}  // namespace

RecipeConfig decaying_recipe(const RecipeConfig& recipe, std::size_t phase, double lambda) {
  PhaseConfig trained = recipe.phase[phase];
  trained.decay.lambda = lambda;
  return one_phase(recipe, trained);
}

// The mask of the phase is chosen and compared as ever, but no product takes it: so it follows every
// pattern and axis.
RecipeConfig dense_recipe(const RecipeConfig& recipe, std::size_t phase) {
  PhaseConfig dense;
  dense.layers = recipe.phase[phase].layers;
  dense.weights = recipe.phase[phase].weights;
  dense.weights.forward.clear();
  dense.weights.dgrad.clear();
  return one_phase(recipe, dense);
}

std::string DecayTuning::verdict(const DecayTrial& trial) const {
  if (trial.diverged) return "diverged";
  if (mu(trial) > kHighestMu) return "thrashes";
  return mu(trial) < kLowestMu ? "frozen early" : "in the window";
}

const DecayTrial* DecayTuning::chosen() const {
  const DecayTrial* best = nullptr;
  for (const DecayTrial& trial : trials) {
    if (verdict(trial) != "in the window") continue;
    if (best == nullptr || std::abs(mu(trial) - kBestMu) < std::abs(mu(*best) - kBestMu))
      best = &trial;
  }
  return best;
}

std::string DecayTuning::advice() const {
  std::optional<double> thrashes, frozen;  // the strongest of the ones, the weakest of the others
  for (const DecayTrial& trial : trials) {
    if (verdict(trial) == "thrashes") thrashes = trial.lambda;
    if (verdict(trial) == "frozen early" && !frozen) frozen = trial.lambda;
  }
  if (thrashes && !frozen)
    return fmt::format(
        "no strength is in the window: all of them thrash; try stronger ones, as "
        "--lambdas {:.2g},{:.2g}",
        *thrashes > 0.0 ? 3.0 * *thrashes : 6e-7, *thrashes > 0.0 ? 10.0 * *thrashes : 6e-6);
  if (frozen && !thrashes && *frozen == 0.0)
    return "no strength is in the window: even without decay the mask changes less than a dense "
           "run's; this recipe needs none here";
  if (frozen && !thrashes)
    return fmt::format(
        "no strength is in the window: all of them freeze the mask early; try weaker "
        "ones, as --lambdas {:.2g},{:.2g},0",
        *frozen / 10.0, *frozen / 3.0);
  if (!frozen) return "no strength is in the window: every run diverged; lower optimizer.lr";
  const double low = std::max(*thrashes, *frozen / 100.0);
  return fmt::format(
      "no strength is in the window: {} thrashes and {} freezes; try between them, as "
      "--lambdas {:.2g}",
      *thrashes, *frozen, std::sqrt(low * *frozen));
}

DecayTuning tune_decay(const DecayTuneRequest& request, const std::atomic<bool>& stop,
                       const DecayTuneListener& listener) {
  const std::vector<double> grid = grid_of(request);
  const Bench bench(request);
  const RunConfig& config = bench.config();
  DecayTuning tuning;
  tuning.recipe = config.recipe.name;
  tuning.phase_index = static_cast<std::int64_t>(bench.phase());
  tuning.phase = describe(config.recipe.phase[bench.phase()]);
  tuning.steps = steps_of(request, config);
  tuning.every = std::max<std::int64_t>(1, tuning.steps / kSamples);
  const std::string hash = settings_hash(config, bench.phase());
  const std::string own =
      fmt::format("{}/tune-decay-{}-{}", config.run.dir, hash.substr(0, 8), tuning.steps);
  DecayResults results(request.folder.empty() ? own : request.folder, hash, tuning);
  tuning.file = results.path();
  if (listener.on_begin) listener.on_begin(tuning);
  // False when a stop was asked for.
  const auto finish = [&](std::optional<double> lambda, DecayTrial& trial) {
    if (const DecayTrial* known = results.find(lambda)) {
      trial = *known;
    } else {
      const std::optional<DecayTrial> fresh = bench.run(lambda, tuning, stop);
      tuning.interrupted = !fresh;
      if (!fresh) return false;
      trial = *fresh;
      results.add(trial);
    }
    if (listener.on_trial) listener.on_trial(tuning, trial);
    return true;
  };
  if (!finish(std::nullopt, tuning.dense)) return tuning;
  require(!tuning.dense.diverged, "the dense run diverges: lower optimizer.lr");
  require(tuning.dense.flip_rate > 0.0,
          "the dense run changes no bit of its mask in {} steps: there is nothing to compare with; "
          "give more --steps, or raise optimizer.lr",
          tuning.steps);
  for (const double lambda : grid) {
    DecayTrial trial;
    if (!finish(lambda, trial)) return tuning;
    tuning.trials.push_back(trial);
  }
  return tuning;
}

}  // namespace twill
