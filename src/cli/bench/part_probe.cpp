// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/part_probe.h"

#include <algorithm>
#include <array>
#include <utility>

#include "measure/random_fill.h"
#include "measure/ratio.h"
#include "measure/turns.h"
#include "models/initialise.h"
#include "ops/transfer.h"
#include "sparsity/plan/measure_plan.h"
#include "train/run/device_choice.h"
#include "train/step/host_masters.h"
#include "train/step/step_profile.h"

namespace twill::cli {
namespace {

// The median of so many: one that is interrupted does not count.
constexpr int kProfiledSteps = 7;
// Of the optimizer's pass at a time.
constexpr TurnLimits kUpdates{.fewest = 10, .most = 10, .seconds = 0.0};

constexpr const char* kProducts = "products";
constexpr const char* kAttentionWork = "attention";
constexpr const char* kSearch = "mask search";
constexpr const char* kProjection = "projection";
constexpr const char* kPacking = "packing";
constexpr const char* kMvueDraw = "MVUE";
constexpr const char* kDecayWork = "decay";
constexpr const char* kRest = "everything else";

constexpr std::array<std::pair<std::string_view, const char*>, 26> kKinds{{
    {"gemm", kProducts},
    {"times_packed", kProducts},
    {"packed_times", kProducts},
    {"kept_gradient", kProducts},
    {"attention_forward", kAttentionWork},
    {"attention_backward", kAttentionWork},
    {"select24", kSearch},
    {"transposable24", kSearch},
    {"venom_select", kSearch},
    {"topology_update", kSearch},
    {"regrow_moments", kSearch},
    {"mask_difference", kSearch},
    {"apply_mask", kProjection},
    {"soft_threshold24", kProjection},
    {"soft_threshold24_sums", kProjection},
    {"pack_matrix", kPacking},
    {"pack_both", kPacking},
    {"soft_pack24", kPacking},  // the projection comes with it
    {"find_kept", kPacking},
    {"gather_kept", kPacking},
    {"scatter_kept", kPacking},
    {"mvue24", kMvueDraw},
    {"pack_sample", kMvueDraw},
    {"activation_sample", kMvueDraw},
    {"masked_decay", kDecayWork},
    {kDecayInUpdate, kDecayWork},
}};

// What of a recipe concerns the part: an FFN has no attention, and neither has a head.
RecipeConfig recipe_of(const RunConfig& config, PartKind part, PartExecution execution) {
  if (execution == PartExecution::kDense) {
    RecipeConfig dense;
    dense.health.every = 0;
    return dense;
  }
  RecipeConfig recipe = config.recipe;
  const auto drop_head = [](std::vector<std::string>& layers) { std::erase(layers, "head"); };
  if (part == PartKind::kFfn) recipe.layers = {"ffn"};
  drop_head(recipe.layers);
  for (PhaseConfig& phase : recipe.phase) {
    drop_head(phase.layers);
    if (part != PartKind::kFfn) continue;
    phase.layers.clear();
    phase.attention = {};
  }
  recipe.execution = execution == PartExecution::kMasked   ? Execution::kMasked
                     : execution == PartExecution::kPacked ? Execution::kPacked
                                                           : Execution::kFastest;
  return recipe;
}

Builder::Options plain_options(const Context& context, const RunConfig& config) {
  return {.dtype = storage_type(config, context),
          .training = true,
          .max_batch = config.train.micro_batch,
          .max_time = config.sequence()};
}

// Of a part without memory.
Plan plan_of(const Context& context, const RunConfig& config, PartKind kind,
             PartExecution execution) {
  const RecipeConfig recipe = recipe_of(config, kind, execution);
  if (recipe.is_dense()) return {};
  Builder builder(context, plain_options(context, config));
  const std::unique_ptr<ProbedPart> part = make_part(kind, builder, config.model);
  if (execution != PartExecution::kPlanned)
    return fixed_plan(recipe, builder.linear_seams(), packs_any_mask(context));
  return measure_plan(context, recipe, builder.linear_seams(),
                      {.tokens = config.micro_batch_tokens(),
                       .steps = config.train.steps,
                       .type = storage_type(config, context)});
}

// Rules for names that a part does not have would be refused.
OptimizerConfig without_rules(OptimizerConfig config) {
  config.group.clear();
  return config;
}

}  // namespace

const char* name_of(PartExecution execution) {
  switch (execution) {
    case PartExecution::kDense:
      return "dense";
    case PartExecution::kMasked:
      return "masked";
    case PartExecution::kPacked:
      return "packed";
    case PartExecution::kPlanned:
      break;
  }
  return "planned";
}

std::string work_kind(std::string_view op) {
  for (const auto& [name, kind] : kKinds)
    if (name == op) return kind;
  return kRest;
}

const std::vector<std::string>& work_kinds() {
  static const std::vector<std::string> kinds{kProducts, kAttentionWork, kSearch,    kProjection,
                                              kPacking,  kMvueDraw,      kDecayWork, kRest};
  return kinds;
}

WorkSeconds by_kind(const WorkSeconds& ops) {
  WorkSeconds kinds;
  for (const auto& [op, seconds] : ops) kinds[work_kind(op)] += seconds;
  return kinds;
}

PartProbe::PartProbe(Context& context, const RunConfig& config, PartKind part,
                     PartExecution execution)
    : context_(context),
      config_(config),
      plan_(plan_of(context, config, part, execution)),
      builder_(context, SparsityEngine::asked_of(recipe_of(config, part, execution),
                                                 plain_options(context, config), plan_)),
      part_(make_part(part, builder_, config.model)),
      optimizer_(builder_, without_rules(config.optimizer)),
      engine_(builder_, recipe_of(config, part, execution), config.length(), config.sequence(),
              static_cast<std::uint64_t>(config.train.seed), plan_) {
  if (execution != PartExecution::kDense && !config.recipe.phase.empty())
    rare_ = rare_work(config.recipe.phase.front(), config.train.steps);
  builder_.commit();
  {
    HostMasters masters(builder_);
    initialise(builder_.parameters(), static_cast<std::uint64_t>(config.train.seed));
    masters.upload();
  }
  part_->fill([this](View view, std::uint64_t stream) { fill_normal(context_, view, stream); });
}

void PartProbe::step() {
  const Pass pass{.context = context_,
                  .batch = config_.train.micro_batch,
                  .time = config_.sequence(),
                  .training = true,
                  .seed = static_cast<std::uint64_t>(config_.train.seed),
                  .micro_step = static_cast<std::uint32_t>(step_),
                  .as_trained = true};
  engine_.before_step(context_, step_);
  part_->forward(pass);
  part_->backward(pass);
  engine_.end_passes();
  if (engine_.updates_topology(step_)) {
    engine_.update_topology(context_, step_);
    if (!engine_.skips_optimizer()) engine_.hide_gradients(context_);
  } else {
    engine_.hide_gradients(context_);
    if (decays_apart()) optimizer_.pull(context_, {.lr = 1e-6});
  }
  engine_.after_update(context_, step_);
  ++step_;
}

bool PartProbe::decays_apart() const {
  return !optimizer_.is_on_device(context_) || !config_.recipe.steps_on_device();
}

double PartProbe::decay_inside_update() {
  const auto decays = [](const Optimizer::Slot& slot) {
    return slot.parameter->update.pull != Pull::kNone;
  };
  if (decays_apart() || std::ranges::none_of(optimizer_.slots(), decays)) return 0.0;
  const auto update = [&] {
    optimizer_.norm_on_device(context_);
    optimizer_.update_on_device(context_);
  };
  const auto seconds = [&] {
    optimizer_.prepare(context_);
    optimizer_.set_scalars(context_, /*lr=*/0.0, /*update=*/1);
    return median_of(time_in_turns(context_, {update}, kUpdates)[0]);
  };
  std::vector<double> longer;
  for (int i = 0; i < kProfiledSteps; ++i) {
    const double with = seconds();
    std::vector<ParameterUpdate> saved;
    for (Parameter& parameter : builder_.parameters())
      saved.push_back(std::exchange(parameter.update, {}));
    longer.push_back(with - seconds());
    for (std::size_t j = 0; j < saved.size(); ++j) builder_.parameters()[j].update = saved[j];
  }
  return std::max(0.0, median_of(longer));
}

void PartProbe::ordinary_step() {
  if (rare_.every > 0 && rare_.next(step_) == step_ && step_ > 0) ++step_;
  step();
}

void PartProbe::rare_step_and_next() {
  step_ = rare_.next(step_);
  step();
  step();
}

template <class Body>
WorkSeconds PartProbe::profile_of(const Body& body) {
  std::map<std::string, std::vector<double>> samples;
  for (int i = 0; i < kProfiledSteps; ++i) {
    StepProfile watch(context_);
    context_.observer = &watch;
    body();
    context_.observer = nullptr;
    for (const auto& [op, time] : watch.ops()) samples[op].push_back(time.seconds);
  }
  WorkSeconds medians;
  for (const auto& [op, values] : samples) medians[op] = median_of(values);
  return medians;
}

WorkSeconds PartProbe::profile() {
  if (step_ == 0) step();  // the first one enters the phase
  WorkSeconds common = profile_of([this] { ordinary_step(); });
  if (rare_.every <= 0) return common;
  WorkSeconds mean;
  // A step that does rare work has every op that others have.
  for (const auto& [op, both] : profile_of([this] { rare_step_and_next(); })) {
    const auto found = common.find(op);
    const double usual = found == common.end() ? 0.0 : found->second;
    mean[op] = mean_seconds(usual, both - usual, rare_.every);
  }
  return mean;
}

}  // namespace twill::cli
