// SPDX-License-Identifier: Apache-2.0
#include "train/step/optimizer.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/require.h"
#include "ops/numbers/sum_squares.h"
#include "ops/transfer.h"
#include "ops/update/adamw.h"
#include "ops/update/masked_decay.h"
#include "ops/update/moment_change.h"

namespace twill {
namespace {

bool matches(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

// What norm and update take: the kept entries, or all of the parameter.
KeptEntries entries_of(const Parameter& parameter) {
  if (parameter.update.kept) return parameter.update.kept;
  return {.value = parameter.value,
          .gradient = parameter.gradient,
          .m = parameter.moments.m,
          .v = parameter.moments.v};
}

}  // namespace

Optimizer::Optimizer(Builder& builder, const OptimizerConfig& config, std::uint64_t seed)
    : config_(config), seed_(seed) {
  const DType moments =
      config.moments == "bf16" ? DType::kBf16 : wide_type(builder.options().dtype);
  for (Parameter& parameter : builder.parameters()) {
    const bool is_matrix = parameter.shape.rank() >= 2;
    slots_.emplace_back(Slot{&parameter, 1.0, is_matrix ? config.weight_decay : 0.0,
                             parameter.moments.m, parameter.moments.v});
    builder.optimizer_state(parameter.moments.m, parameter.shape, moments);
    builder.optimizer_state(parameter.moments.v, parameter.shape, moments);
  }
  for (const OptimizerGroup& group : config.group) apply_rule(group);
  builder.state(sum_, DType::kF64, {1});
  if (!is_on_device(builder.context())) {
    builder.state(loss_, DType::kF64, {1});
    return;
  }
  builder.state(table_, DType::kU8, {update_table_bytes(static_cast<std::int64_t>(slots_.size()))});
  builder.state(partials_, DType::kF64, {kNormPartials});
  builder.state(scalars_, DType::kF64, {kUpdateScalars});
}

bool Optimizer::is_on_device(const Context& context) const {
  return !shares_memory(context) && context.kernels().adamw_all != nullptr;
}

void Optimizer::prepare(const Context& context) {
  if (!is_on_device(context)) return;
  tensors_.clear();
  for (const Slot& slot : slots_) {
    const Parameter& parameter = *slot.parameter;
    const ParameterUpdate& update = parameter.update;
    TWILL_CHECK(update.freezes_second_moment == freezes(),
                "one update freezes all second moments, or none");
    const KeptEntries entries = entries_of(parameter);
    // The operand of kept entries is written where they are put back into the weight.
    const bool has_operand = !update.kept && parameter.operand.bytes() != parameter.value.bytes();
    tensors_.push_back({.weight = entries.value,
                        .grad = entries.gradient,
                        .m = entries.m,
                        .v = entries.v,
                        .operand = has_operand ? parameter.operand : View(),
                        .lr_scale = slot.lr_scale,
                        .weight_decay = slot.weight_decay,
                        .mask = update.pull == Pull::kNone ? ConstView() : update.mask,
                        .decay = update.strength,
                        .pulls_weight = update.pull == Pull::kOnWeight});
  }
  if (!staged_scalars_.view())
    staged_scalars_ = Tensor(DType::kF64, {kUpdateScalars}, staging_memory(context));
  prepare_update(context, {.tensors = tensors_, .table = table_});
}

void Optimizer::set_scalars(const Context& context, double lr, std::int64_t update) {
  const auto step = static_cast<double>(update);
  double* staged = staged_scalars_.view().as<double>();
  staged[kLr] = lr;
  staged[kCorrection1] = 1.0 - std::pow(config_.beta1, step);
  staged[kCorrection2] = 1.0 - std::pow(config_.beta2, step);
  staged[kUpdate] = step;
  copy_in(context, scalars_.slice(0, kLoss), staged);
}

void Optimizer::norm_on_device(const Context& context) {
  norm_all(context, {.tensors = tensors_,
                     .table = table_,
                     .norm2 = scalars_.slice(kNorm2, 1),
                     .partials = partials_});
}

void Optimizer::update_on_device(const Context& context) {
  adamw_all(context, {.tensors = tensors_,
                      .table = table_,
                      .norm2 = scalars_.slice(kNorm2, 1),
                      .scalars = scalars_,
                      .beta1 = config_.beta1,
                      .beta2 = config_.beta2,
                      .eps = eps(),
                      .clip = config_.clip,
                      .freeze_v = freezes(),
                      .seed = seed_});
}

// A phase freezes all second moments, or none.
bool Optimizer::freezes() const {
  return !slots_.empty() && slots_.front().parameter->update.freezes_second_moment;
}

// STEP's denominator with frozen moments: eps to the power 3/4.
double Optimizer::eps() const { return freezes() ? std::pow(config_.eps, 0.75) : config_.eps; }

void Optimizer::apply_rule(const OptimizerGroup& group) {
  bool used = false;
  for (Slot& slot : slots_) {
    if (!matches(group.match, slot.parameter->name)) continue;
    used = true;
    if (group.lr_scale >= 0.0) slot.lr_scale = group.lr_scale;
    if (group.weight_decay >= 0.0) slot.weight_decay = group.weight_decay;
  }
  require(used, "optimizer.group: match = \"{}\" fits no parameter; names are like {}", group.match,
          slots_.empty() ? "none" : slots_.back().parameter->name);
}

std::vector<View> Optimizer::gradients() const {
  std::vector<View> all;
  for (const Slot& slot : slots_) all.push_back(entries_of(*slot.parameter).gradient);
  return all;
}

double Optimizer::gradient_norm(const Context& context) const {
  double total = 0.0;
  for (const Slot& slot : slots_) {
    sum_squares(context, {.x = entries_of(*slot.parameter).gradient, .sum = sum_});
    total += host_values<double>(context, sum_)[0];
  }
  return std::sqrt(total);
}

double Optimizer::clip_scale(double norm) const {
  return config_.clip > 0.0 && norm > config_.clip ? config_.clip / norm : 1.0;
}

void Optimizer::apply(const Context& context, const Step& step) {
  pull(context, step);
  std::uint64_t stream = 0;  // the slot's place, as on a device
  for (const Slot& slot : slots_) {
    const ParameterUpdate& update = slot.parameter->update;
    const KeptEntries entries = entries_of(*slot.parameter);
    adamw(context, {.weight = entries.value,
                    .grad = entries.gradient,
                    .m = entries.m,
                    .v = entries.v,
                    .lr = step.lr * slot.lr_scale,
                    .beta1 = config_.beta1,
                    .beta2 = config_.beta2,
                    .eps = eps(),
                    .weight_decay = slot.weight_decay,
                    .grad_scale = update.pull == Pull::kOnGradient ? 1.0 : step.scale,
                    .step = step.update,
                    .freeze_v = update.freezes_second_moment,
                    .seed = seed_,
                    .stream = stream++});
    refresh_operand(context, *slot.parameter);
  }
}

void Optimizer::pull(const Context& context, const Step& step) const {
  for (const Slot& slot : slots_) {
    const Parameter& parameter = *slot.parameter;
    const ParameterUpdate& update = parameter.update;
    if (update.pull == Pull::kNone) continue;
    const bool on_gradient = update.pull == Pull::kOnGradient;
    const double lr = step.lr * slot.lr_scale;
    masked_decay(context, {.target = on_gradient ? parameter.gradient : parameter.value,
                           .weight = parameter.value,
                           .mask = update.mask,
                           .scale = on_gradient ? step.scale : 1.0,
                           .rate = on_gradient ? update.strength : -lr * update.strength});
  }
}

double Optimizer::mean_moment_change(const Context& context, double scale) const {
  double total = 0.0, count = 0.0;
  for (const Slot& slot : slots_) {
    const KeptEntries entries = entries_of(*slot.parameter);
    moment_change(context, {.grad = entries.gradient,
                            .v = entries.v,
                            .sum = sum_,
                            .beta2 = config_.beta2,
                            .grad_scale = scale});
    total += host_values<double>(context, sum_)[0];
    count += static_cast<double>(slot.v.num_elements());
  }
  return total / count;
}

const Optimizer::Slot& Optimizer::slot_of(const Parameter& parameter) const {
  const auto found = std::ranges::find(slots_, &parameter, &Slot::parameter);
  TWILL_CHECK(found != slots_.end(), "every parameter has a slot");
  return *found;
}

}  // namespace twill
