// SPDX-License-Identifier: Apache-2.0
#include "train/step/trainer.h"

#include <chrono>

#include "models/initialise.h"
#include "sparsity/weights/master_weights.h"
#include "train/model/evaluation.h"
#include "train/run/device_choice.h"
#include "train/run/make_plan.h"
#include "train/step/host_masters.h"
#include "train/step/memory_use.h"

namespace twill {
namespace {

using Clock = std::chrono::steady_clock;

// What the plan selects decides which buffers the model is built with.
const Plan& made_if_absent(std::optional<Plan>& plan, const Context& context,
                           const RunConfig& config) {
  if (!plan) plan = make_plan(context, config);
  return *plan;
}

}  // namespace

double tokens_per_second(const StepResult& result, const RunConfig& config) {
  return static_cast<double>(config.accumulation() * config.micro_batch_tokens()) / result.seconds;
}

Trainer::Trainer(const Context& context, const RunConfig& config, TrainingData data,
                 std::optional<Plan> plan)
    : context_(context),
      config_(config),
      data_(std::move(data)),
      builder_(context,
               SparsityEngine::asked_of(config.recipe,
                                        {.dtype = storage_type(config, context),
                                         .training = true,
                                         .max_batch = config.train.micro_batch,
                                         .max_time = config.sequence(),
                                         .recompute = recompute_of(config.train.recompute)},
                                        made_if_absent(plan, context, config))),
      model_(make_model(builder_, config.model)),
      optimizer_(builder_, config.optimizer, static_cast<std::uint64_t>(config.train.seed)),
      sparsity_(builder_, config.recipe, config.length(), config.sequence(),
                static_cast<std::uint64_t>(config.train.seed), *plan) {}

void Trainer::begin(Reducer* reducer) {
  require_memory(context_, builder_.memory_table());
  builder_.commit();
  {
    HostMasters masters(builder_);
    initialise(builder_.parameters(), static_cast<std::uint64_t>(config_.train.seed));
    masters.upload();
  }
  step_.emplace(context_, config_, *model_, optimizer_, sparsity_, *data_.train, reducer);
}

void Trainer::set_schedule(std::function<double(std::int64_t)> schedule) {
  step_->set_schedule(std::move(schedule));
}

StepResult Trainer::step() {
  const std::atomic<bool> never{false};
  return *step_unless(never);
}

std::optional<StepResult> Trainer::step_unless(const std::atomic<bool>& stop) {
  const Clock::time_point start = Clock::now();
  const std::optional<Step::Result> done = step_->run(
      {.step = progress_.step, .updates = progress_.updates, .windows = progress_.windows}, stop);
  if (!done) return std::nullopt;
  ++progress_.step;
  if (done->updated) ++progress_.updates;
  progress_.tokens += config_.accumulation() * config_.micro_batch_tokens();
  progress_.windows += config_.accumulation() * config_.train.micro_batch;
  return StepResult{.step = progress_.step,
                    .tokens = progress_.tokens,
                    .loss = done->loss,
                    .lr = done->lr,
                    .grad_norm = done->grad_norm,
                    .seconds = std::chrono::duration<double>(Clock::now() - start).count(),
                    .finite = done->finite,
                    .topology_update = done->moved_topology};
}

void Trainer::take_back(const Progress& before) {
  progress_ = before;
  sparsity_.account().uncount();
}

double Trainer::mean_validation_loss(bool as_trained) {
  return mean_loss(context_, *model_, *data_.validation,
                   {.batch = config_.train.micro_batch, .time = config_.sequence()}, as_trained);
}

double Trainer::evaluate() { return mean_validation_loss(/*as_trained=*/false); }

double Trainer::evaluate_master() {
  const MasterWeights plain(sparsity_.layers());
  return evaluate();
}

double Trainer::evaluate_as_trained() { return mean_validation_loss(/*as_trained=*/true); }

}  // namespace twill
