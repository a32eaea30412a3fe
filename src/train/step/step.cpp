// SPDX-License-Identifier: Apache-2.0
#include "train/step/step.h"

#include <cmath>

#include "ops/transfer.h"
#include "train/step/schedule.h"

namespace twill {

struct Step::Piece {
  const char* name;
  bool (Step::*work)();
  bool (Step::*asks)() const;
  bool changes_weights;
};

std::span<const Step::Piece> Step::pieces() {
  static constexpr Piece kPieces[] = {
      {"gradients", &Step::gradients, &Step::never_asks, false},
      {"reduce", &Step::reduce, &Step::never_asks, false},
      {"norm", &Step::norm, &Step::never_asks, false},
      {"update", &Step::update, &Step::update_asks, true},
      {"renew", &Step::renew, &Step::renew_asks, true},
  };
  return kPieces;
}

std::vector<std::string_view> Step::names() {
  std::vector<std::string_view> names;
  for (const Piece& piece : pieces()) names.emplace_back(piece.name);
  return names;
}

Step::Step(const Context& context, const RunConfig& config, Model& model, Optimizer& optimizer,
           SparsityEngine& sparsity, const Data& data, Reducer* reducer)
    : context_(context),
      config_(config),
      model_(model),
      optimizer_(optimizer),
      sparsity_(sparsity),
      data_(data),
      recorder_(context),
      reducer_(reducer),
      processes_(reducer != nullptr ? reducer->processes() : 1),
      rank_(reducer != nullptr ? reducer->rank() : 0),
      targets_(context, model, passes(), reducer) {
  // A recipe that looks at more than losses and norms between the parts of a step is steered from
  // the host, on whatever memory.
  if (!optimizer.is_on_device(context) || !config.recipe.steps_on_device()) {
    batch_ = BatchStorage(data.layout(), windows());
    return;
  }
  optimizer.prepare(context);
  device_.emplace(context, model, optimizer, data, recorder_,
                  DeviceStep::Shape{.batch = config.train.micro_batch,
                                    .time = config.sequence(),
                                    .micro_batches = config.accumulation(),
                                    .processes = processes_});
}

std::optional<Step::Result> Step::run(const Place& place, const std::atomic<bool>& stop) {
  place_ = place;
  stop_ = &stop;
  begin();
  for (const Piece& piece : pieces()) {
    if ((this->*piece.asks)()) settle();
    if (piece.changes_weights && is_settled_ && !result_.finite) continue;
    const ProfilerRange range(context_.kernels(), piece.name);
    if (!(this->*piece.work)()) return std::nullopt;
  }
  settle();
  result_.updated = result_.updated && result_.finite;
  return result_;
}

void Step::begin() {
  sparsity_.before_step(context_, place_.step);
  const std::int64_t step = place_.step + 1;
  result_ = {.lr = schedule_ ? schedule_(step)
                             : learning_rate(config_.schedule, config_.optimizer.lr, step,
                                             config_.train.steps)};
  moves_ = sparsity_.updates_topology(place_.step);
  is_settled_ = false;
  if (!device_ || arrangement_ == sparsity_.arrangement()) return;
  // Recorded work and the table of the update follow the sparsity's arrangement.
  arrangement_ = sparsity_.arrangement();
  optimizer_.prepare(context_);
  recorder_.forget();
}

Pass Step::pass_of(std::int64_t index) const {
  return {.context = context_,
          .batch = config_.train.micro_batch,
          .time = config_.sequence(),
          .training = true,
          .seed = static_cast<std::uint64_t>(config_.train.seed),
          // Wraps after 2^32 micro-steps; dropout draws then repeat, nothing else does.
          .micro_step = static_cast<std::uint32_t>(
              (place_.step * processes_ + rank_) * config_.accumulation() + index),
          .as_trained = true,
          .accumulate = index > 0};
}

void Step::load(std::int64_t index) {
  if (device_) return device_->load(first(), pass_of(index), index);
  const std::int64_t rows = config_.train.micro_batch;
  model_.load(pass_of(index), batch_.rows(index * rows, rows));
}

void Step::count_targets() {
  if (!targets_.counts()) return;
  for (std::int64_t index = 0; index < config_.accumulation(); ++index) {
    load(index);
    targets_.add(pass_of(index), index == 0);
  }
  targets_.finish(context_);
}

void Step::micro_batch(std::int64_t index) {
  const Pass pass = pass_of(index);
  const LossScale scale = targets_.scale();
  if (device_) return device_->micro_batch(first(), pass, index, scale);
  load(index);
  model_.compute(pass, scale);
  model_.add_mean_loss(pass, scale.count, optimizer_.loss_sum(), pass.accumulate);
}

bool Step::gradients() {
  const std::int64_t count = config_.accumulation();
  if (*stop_) return false;
  if (!device_) data_.fill(first(), batch_.rows(0, windows()));
  count_targets();
  for (std::int64_t index = 0; index < count; ++index) {
    if (*stop_) {
      if (device_) wait(context_);
      return false;
    }
    micro_batch(index);
  }
  sparsity_.end_passes();
  // As the step was computed: an update of the topology changes what the next one costs.
  sparsity_.count_step(place_.step, count * config_.micro_batch_tokens());
  return true;
}

// What a topology hides is hidden before: only then do the arrays of kept entries hold all of a weight's
// gradient that two layers share.
bool Step::reduce() {
  if (reducer_ == nullptr) return true;
  if (!moves_) sparsity_.hide_gradients(context_);
  std::vector<View> views = optimizer_.gradients();
  views.push_back(optimizer_.loss_sum());
  reducer_->add_up(context_, views);
  return true;
}

void Step::measure_norm() {
  is_settled_ = false;
  if (device_) {
    optimizer_.norm_on_device(context_);
  } else {
    result_.grad_norm = optimizer_.gradient_norm(context_);
  }
}

bool Step::norm() {
  // An update of the topology needs the gradient of every weight; it comes rarely, and unrecorded.
  if (moves_) {
    measure_norm();
    return true;
  }
  const auto work = [this] {
    if (reducer_ == nullptr) sparsity_.hide_gradients(context_);
    measure_norm();
  };
  device_ ? recorder_.run("norm", work) : work();
  return true;
}

bool Step::update_asks() const { return !device_ || moves_ || sparsity_.moment_watch().watches(); }

bool Step::update() {
  if (moves_) {
    result_.moved_topology = true;
    sparsity_.update_topology(context_, place_.step);
    if (sparsity_.skips_optimizer()) return true;
    sparsity_.hide_gradients(context_);
    measure_norm();
  }
  if (sparsity_.moment_watch().watches()) {
    settle();
    const double scale = optimizer_.clip_scale(result_.grad_norm);
    sparsity_.moment_watch().observe(place_.step, optimizer_.mean_moment_change(context_, scale),
                                     config_.optimizer.beta2);
  }
  result_.updated = true;
  if (!device_) {
    optimizer_.apply(context_, {.lr = result_.lr,
                                .scale = optimizer_.clip_scale(result_.grad_norm),
                                .update = place_.updates + 1});
    return true;
  }
  optimizer_.set_scalars(context_, result_.lr, place_.updates + 1);
  const auto work = [this] { optimizer_.update_on_device(context_); };
  moves_ ? work() : recorder_.run("update", work);
  // Also where the norm is known already: the next step writes what this work still has to read.
  is_settled_ = false;
  return true;
}

// Where gradients are not finite weights do not change: the same masks and packed forms come of it.
// A sample of their health must not: it waits for the answer.
bool Step::renew_asks() const { return sparsity_.samples(place_.step); }

bool Step::renew() {
  sparsity_.after_update(context_, place_.step);
  return true;
}

void Step::settle() {
  if (is_settled_) return;
  is_settled_ = true;
  double loss_sum = 0.0;
  if (device_) {
    // The next step's, while the device works.
    if (place_.step + 1 < config_.train.steps)
      device_->prefetch_ahead(first() + processes_ * windows());
    const DeviceStep::Result done = device_->wait_for();
    loss_sum = done.loss_sum;
    result_.grad_norm = done.grad_norm;
  } else {
    loss_sum = host_values<double>(context_, optimizer_.loss_sum())[0];
  }
  result_.loss = loss_sum / static_cast<double>(passes());
  result_.finite = std::isfinite(result_.loss) && std::isfinite(result_.grad_norm);
}

}  // namespace twill
