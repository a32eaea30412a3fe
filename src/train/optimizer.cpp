// SPDX-License-Identifier: Apache-2.0
#include "train/optimizer.h"

#include <fnmatch.h>

#include <cmath>

#include "base/require.h"
#include "ops/adamw.h"
#include "ops/sum_squares.h"

namespace twill {
namespace {

bool matches(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Optimizer::Optimizer(Builder& builder, const OptimizerConfig& config) : config_(config) {
  for (Parameter& parameter : builder.parameters()) {
    const bool is_matrix = parameter.shape.rank() >= 2;
    Slot& slot = slots_.emplace_back(
        Slot{&parameter, 1.0, is_matrix ? config.weight_decay : 0.0, View(), View()});
    builder.optimizer_state(slot.m, parameter.shape);
    builder.optimizer_state(slot.v, parameter.shape);
  }
  for (const OptimizerGroup& group : config.group) apply_rule(group);
  builder.state(sum_, DType::kF64, {1});
}

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

double Optimizer::gradient_norm(const Context& context) const {
  double total = 0.0;
  for (const Slot& slot : slots_) {
    sum_squares(context, {.x = slot.parameter->gradient, .sum = sum_});
    total += *sum_.as<double>();
  }
  return std::sqrt(total);
}

void Optimizer::apply(const Context& context, double lr, double norm, std::int64_t update) {
  const double scale = config_.clip > 0.0 && norm > config_.clip ? config_.clip / norm : 1.0;
  for (const Slot& slot : slots_)
    adamw(context, {.weight = slot.parameter->value,
                    .grad = slot.parameter->gradient,
                    .m = slot.m,
                    .v = slot.v,
                    .lr = lr * slot.lr_scale,
                    .beta1 = config_.beta1,
                    .beta2 = config_.beta2,
                    .eps = config_.eps,
                    .weight_decay = slot.weight_decay,
                    .grad_scale = scale,
                    .step = update});
}

}  // namespace twill
