// SPDX-License-Identifier: Apache-2.0
#include "train/step/trainer.h"

#include <chrono>
#include <cmath>

#include "data/window_data.h"
#include "models/initialise.h"
#include "ops/transfer.h"
#include "train/model/evaluation.h"
#include "train/run/device_choice.h"
#include "train/run/make_plan.h"
#include "train/step/host_masters.h"
#include "train/step/memory_use.h"
#include "train/step/schedule.h"

namespace twill {
namespace {

using Clock = std::chrono::steady_clock;

// What the plan selects decides which buffers the model is built with.
const Plan& made_if_absent(std::optional<Plan>& plan, const Context& context,
                           const RunConfig& config, const MakeModel& make) {
  if (!plan) plan = make_plan(context, config, {.make_model = make});
  return *plan;
}

}  // namespace

TrainingData windows_of(const Corpus& corpus, const RunConfig& config) {
  return {.train = std::make_shared<TrainingWindows>(corpus.sources, config.sequence(),
                                                     static_cast<std::uint64_t>(config.train.seed)),
          .validation = std::make_shared<EvaluationWindows>(corpus.validation, config.sequence(),
                                                            config.eval.windows)};
}

Trainer::Trainer(const Context& context, const RunConfig& config, TrainingData data,
                 std::optional<Plan> plan, const MakeModel& make)
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
                                        made_if_absent(plan, context, config, make))),
      model_(make(builder_, config.model)),
      optimizer_(builder_, config.optimizer, static_cast<std::uint64_t>(config.train.seed)),
      sparsity_(builder_, config.recipe, config.length(), config.sequence(),
                static_cast<std::uint64_t>(config.train.seed), *plan),
      batch_(data_.train->layout(), config.train.micro_batch) {
  sparsity_.set_moments([this](const Parameter& parameter) {
    const Optimizer::Slot& slot = optimizer_.slot_of(parameter);
    return Moments{slot.m, slot.v};
  });
}

void Trainer::begin() {
  require_memory(context_, builder_.memory_table());
  builder_.commit();
  {
    HostMasters masters(builder_);
    initialise(builder_.parameters(), static_cast<std::uint64_t>(config_.train.seed));
    masters.upload();
  }
  // A recipe that looks at losses, norms or gradients between the parts of a step is steered from the
  // host, on whatever memory.
  if (!optimizer_.is_on_device(context_) || !config_.recipe.steps_on_device()) return;
  optimizer_.prepare(context_);
  device_step_.emplace(context_, *model_, optimizer_, *data_.train,
                       DeviceStep::Shape{.batch = config_.train.micro_batch,
                                         .time = config_.sequence(),
                                         .micro_batches = config_.accumulation()});
}

Pass Trainer::pass_of(std::int64_t index, std::int64_t count) const {
  return {.context = context_,
          .batch = config_.train.micro_batch,
          .time = config_.sequence(),
          .training = true,
          .seed = static_cast<std::uint64_t>(config_.train.seed),
          // Wraps after 2^32 micro-steps; dropout draws then repeat, nothing else does.
          .micro_step = static_cast<std::uint32_t>(progress_.step * count + index),
          .as_trained = true,
          .accumulate = index > 0};
}

double Trainer::micro_batch(std::int64_t index, std::int64_t count) {
  const Batch batch = batch_.rows(0, config_.train.micro_batch);
  data_.train->fill(progress_.windows, batch);
  progress_.windows += batch.rows();
  return model_->loss_and_gradient(pass_of(index, count), batch, 1.0 / static_cast<double>(count))
      .mean;
}

void Trainer::arrange_device() {
  if (arrangement_ == sparsity_.arrangement()) return;
  arrangement_ = sparsity_.arrangement();
  optimizer_.prepare(context_,
                     [this](const Parameter& parameter) { return sparsity_.decay_of(parameter); });
  device_step_->forget_recordings();
}

bool Trainer::step_on_device(StepResult& result, const std::atomic<bool>& stop) {
  const std::int64_t step = progress_.step;
  const bool is_steered = !config_.recipe.leaves_steps_alone();
  if (is_steered) {
    sparsity_.before_step(context_, step);
    arrange_device();
  }
  const std::int64_t count = config_.accumulation(), first = progress_.windows;
  const std::int64_t windows = count * config_.train.micro_batch;
  for (std::int64_t index = 0; index < count; ++index) {
    if (stop) {
      wait(context_);
      return false;
    }
    device_step_->micro_batch(first, pass_of(index, count), index);
  }
  result.lr = learning_rate(config_.schedule, config_.optimizer.lr, step + 1, config_.train.steps);
  device_step_->update(result.lr, progress_.updates + 1);
  // Where gradients are not finite weights do not change: the same masks and packed forms come of it.
  // A sample of their health must not: it waits for the answer.
  const bool samples = is_steered && sparsity_.samples(step);
  const auto renew = [&] {
    sparsity_.after_backward(context_, step);
    sparsity_.after_update(context_, step);
  };
  if (is_steered && !samples) renew();
  device_step_->prefetch(first + windows);  // while the device works
  const DeviceStep::Result done = device_step_->wait_for();
  result.loss = done.loss;
  result.grad_norm = done.grad_norm;
  result.finite = std::isfinite(done.loss) && std::isfinite(done.grad_norm);
  progress_.windows += windows;
  if (result.finite) ++progress_.updates;
  if (samples && result.finite) renew();
  return true;
}

StepResult Trainer::step() {
  const std::atomic<bool> never{false};
  return *step_unless(never);
}

std::optional<StepResult> Trainer::step_unless(const std::atomic<bool>& stop) {
  const Clock::time_point start = Clock::now();
  const Progress before = progress_;
  const std::int64_t count = config_.accumulation();
  const std::int64_t step = progress_.step;
  StepResult result;
  if (device_step_) {
    if (!step_on_device(result, stop)) return std::nullopt;
  } else if (!step_on_host(result, stop)) {
    progress_ = before;
    return std::nullopt;
  }
  result.step = ++progress_.step;
  progress_.tokens += count * config_.micro_batch_tokens();
  result.tokens = progress_.tokens;
  sparsity_.count_step(step, count * config_.micro_batch_tokens());
  if (!device_step_) {
    result.lr =
        learning_rate(config_.schedule, config_.optimizer.lr, result.step, config_.train.steps);
    if (result.finite) change_weights(result, step);
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

bool Trainer::step_on_host(StepResult& result, const std::atomic<bool>& stop) {
  const std::int64_t count = config_.accumulation(), step = progress_.step;
  sparsity_.before_step(context_, step);
  double loss = 0.0;
  for (std::int64_t index = 0; index < count; ++index) {
    if (stop) return false;
    loss += micro_batch(index, count);
  }
  result.loss = loss / static_cast<double>(count);
  sparsity_.after_backward(context_, step);
  result.grad_norm = gradient_norm();
  result.finite = std::isfinite(result.loss) && std::isfinite(result.grad_norm);
  return true;
}

Optimizer::KeptOf Trainer::kept_of() const {
  return [this](const Parameter& parameter) { return sparsity_.kept_entries(parameter); };
}

double Trainer::gradient_norm() const { return optimizer_.gradient_norm(context_, kept_of()); }

void Trainer::take_back(const Progress& before) {
  progress_ = before;
  sparsity_.uncount_step();
}

void Trainer::change_weights(StepResult& result, std::int64_t step) {
  if (sparsity_.updates_topology(step)) {
    result.topology_update = true;
    sparsity_.update_topology(context_, step);
    if (sparsity_.skips_optimizer()) return sparsity_.after_update(context_, step);
    result.grad_norm = gradient_norm();
  }
  const double scale = optimizer_.clip_scale(result.grad_norm);
  if (sparsity_.watches_moments())
    sparsity_.observe_moment_change(step, optimizer_.mean_moment_change(context_, scale, kept_of()),
                                    config_.optimizer.beta2);
  sparsity_.before_update(context_, scale, [&](const Parameter& parameter) {
    return result.lr * optimizer_.slot_of(parameter).lr_scale;
  });
  optimizer_.apply(
      context_,
      {.lr = result.lr,
       .scale = scale,
       .update = ++progress_.updates,
       .freeze_second_moments = sparsity_.freezes_second_moments(),
       .is_scaled = [this](const Parameter& parameter) { return sparsity_.is_scaled(parameter); },
       .kept_of = kept_of()});
  sparsity_.after_update(context_, step);
}

double Trainer::mean_validation_loss(bool as_trained) {
  return mean_loss(context_, *model_, *data_.validation,
                   {.batch = config_.train.micro_batch, .time = config_.sequence()}, as_trained);
}

double Trainer::evaluate() { return mean_validation_loss(/*as_trained=*/false); }

double Trainer::evaluate_master() {
  const SparsityEngine::MasterWeights plain(sparsity_);
  return evaluate();
}

double Trainer::evaluate_as_trained() { return mean_validation_loss(/*as_trained=*/true); }

}  // namespace twill
