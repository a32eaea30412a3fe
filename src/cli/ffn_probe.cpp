// SPDX-License-Identifier: Apache-2.0
#include "cli/ffn_probe.h"

#include <array>
#include <utility>

#include "base/rng.h"
#include "cli/paired_ratio.h"
#include "models/decoder.h"
#include "ops/cast.h"
#include "ops/transfer.h"
#include "sparsity/measure_plan.h"
#include "train/device_choice.h"
#include "train/host_masters.h"
#include "train/step_profile.h"

namespace twill::cli {
namespace {

// The median of so many: one that is interrupted does not count.
constexpr int kProfiledSteps = 7;

constexpr const char* kProducts = "products";
constexpr const char* kSearch = "mask search";
constexpr const char* kProjection = "projection";
constexpr const char* kPacking = "packing";
constexpr const char* kMvueDraw = "MVUE";
constexpr const char* kDecayWork = "decay";
constexpr const char* kRest = "everything else";

constexpr std::array<std::pair<std::string_view, const char*>, 21> kKinds{{
    {"gemm", kProducts},
    {"times_packed", kProducts},
    {"packed_times", kProducts},
    {"kept_gradient", kProducts},
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
    {"find_kept", kPacking},
    {"gather_kept", kPacking},
    {"scatter_kept", kPacking},
    {"mvue24", kMvueDraw},
    {"pack_sample", kMvueDraw},
    {"masked_decay", kDecayWork},
}};

RecipeConfig recipe_of(const RunConfig& config, FfnExecution execution) {
  if (execution == FfnExecution::kDense) {
    RecipeConfig dense;
    dense.health.every = 0;
    return dense;
  }
  RecipeConfig recipe = config.recipe;
  recipe.layers = {"ffn"};
  for (PhaseConfig& phase : recipe.phase) {
    phase.layers.clear();
    phase.attention = {};
  }
  recipe.execution = execution == FfnExecution::kMasked   ? "masked"
                     : execution == FfnExecution::kPacked ? "packed"
                                                          : "auto";
  return recipe;
}

Builder::Options plain_options(const Context& context, const RunConfig& config) {
  return {.dtype = storage_type(config, context),
          .training = true,
          .max_batch = config.train.micro_batch,
          .max_time = config.sequence()};
}

FeedForward::Options ffn_options(const ModelConfig& model) {
  return {.width = model.width,
          .hidden = model.ffn.width,
          .activation = model.ffn.kind(),
          .bias = model.bias,
          .init_std = model.init.std,
          .output_init_std = model.init.std * model.init.residual_scale,
          .dropout = 0.0};
}

// Of an FFN without memory.
Plan plan_of(const Context& context, const RunConfig& config, FfnExecution execution) {
  const RecipeConfig recipe = recipe_of(config, execution);
  if (recipe.is_dense()) return {};
  Builder builder(context, plain_options(context, config));
  const FeedForward ffn(builder, "blocks.0.ffn", ffn_options(config.model));
  if (execution != FfnExecution::kPlanned)
    return fixed_plan(recipe, builder.linear_seams(), packs_any_mask(context));
  return measure_plan(context, recipe, builder.linear_seams(),
                      {.tokens = config.micro_batch_tokens(),
                       .steps = config.train.steps,
                       .type = storage_type(config, context)});
}

}  // namespace

const char* name_of(FfnExecution execution) {
  switch (execution) {
    case FfnExecution::kDense:
      return "dense";
    case FfnExecution::kMasked:
      return "masked";
    case FfnExecution::kPacked:
      return "packed";
    case FfnExecution::kPlanned:
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
  static const std::vector<std::string> kinds{kProducts, kSearch,    kProjection, kPacking,
                                              kMvueDraw, kDecayWork, kRest};
  return kinds;
}

FfnProbe::FfnProbe(Context& context, const RunConfig& config, FfnExecution execution)
    : context_(context),
      config_(config),
      plan_(plan_of(context, config, execution)),
      builder_(context, SparsityEngine::asked_of(recipe_of(config, execution),
                                                 plain_options(context, config), plan_)),
      ffn_(builder_, "blocks.0.ffn", ffn_options(config.model)),
      engine_(builder_, recipe_of(config, execution), config.length(), config.sequence(),
              static_cast<std::uint64_t>(config.train.seed), plan_) {
  if (execution != FfnExecution::kDense && !config.recipe.phase.empty())
    rare_ = rare_work(config.recipe.phase.front(), config.train.steps);
  const Shape stream{config.micro_batch_tokens(), config.model.width};
  for (View* view : {&x_, &residual_, &out_, &dout_, &dx_})
    builder_.activation("bench.stream", *view, stream);
  for (const LinearSeam& seam : builder_.linear_seams()) {
    Moments& moments = moments_[seam.weight];
    builder_.optimizer_state(moments.m, seam.weight->shape, DType::kF32);
    builder_.optimizer_state(moments.v, seam.weight->shape, DType::kF32);
  }
  engine_.set_moments([this](const Parameter& parameter) { return moments_.at(&parameter); });
  builder_.commit();
  {
    HostMasters masters(builder_);
    initialise(builder_.parameters(), static_cast<std::uint64_t>(config.train.seed));
    masters.upload();
  }
  fill_random(x_, 1);
  fill_random(residual_, 2);
  fill_random(dout_, 3);
}

// What a norm leaves: standard normal numbers.
void FfnProbe::fill_random(View view, std::uint64_t stream) const {
  std::vector<float> values(static_cast<std::size_t>(view.num_elements()));
  constexpr std::size_t kDrawn = std::size_t{1} << 20;  // then they repeat
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i >= kDrawn) {
      values[i] = values[i - kDrawn];
      continue;
    }
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, i);
    values[i] = normal_float(bits[0], bits[1]);
  }
  Tensor wide(DType::kF32, view.shape(), context_.memory());
  copy_in(context_, wide.view(), values.data());
  if (view.dtype() == DType::kF32) {
    copy(context_, view, wide.view());
  } else {
    cast(context_, {.x = wide.view(), .y = view});
  }
  wait(context_);
}

void FfnProbe::step() {
  const Pass pass{.context = context_,
                  .batch = config_.train.micro_batch,
                  .time = config_.sequence(),
                  .training = true,
                  .seed = static_cast<std::uint64_t>(config_.train.seed),
                  .micro_step = static_cast<std::uint32_t>(step_),
                  .as_trained = true};
  engine_.before_step(context_, step_);
  ffn_.forward(pass, x_, residual_, out_);
  ffn_.backward(pass, x_, dout_, dx_);
  engine_.after_backward(context_, step_);
  if (engine_.updates_topology(step_)) {
    engine_.update_topology(context_, step_);
  } else {
    engine_.before_update(context_, 1.0, [](const Parameter&) { return 1e-6; });
  }
  engine_.after_update(context_, step_);
  ++step_;
}

void FfnProbe::ordinary_step() {
  if (rare_.every > 0 && rare_.next(step_) == step_ && step_ > 0) ++step_;
  step();
}

void FfnProbe::rare_step_and_next() {
  step_ = rare_.next(step_);
  step();
  step();
}

template <class Body>
WorkSeconds FfnProbe::profile_of(const Body& body) {
  std::map<std::string, std::vector<double>> samples;
  for (int i = 0; i < kProfiledSteps; ++i) {
    StepProfile watch(context_);
    context_.observer = &watch;
    body();
    context_.observer = nullptr;
    WorkSeconds seconds;
    for (const auto& [op, time] : watch.ops()) seconds[work_kind(op)] += time.seconds;
    for (const std::string& kind : work_kinds()) samples[kind].push_back(seconds[kind]);
  }
  WorkSeconds medians;
  for (const auto& [kind, values] : samples) medians[kind] = median_of(values);
  return medians;
}

WorkSeconds FfnProbe::profile() {
  if (step_ == 0) step();  // the first one enters the phase
  WorkSeconds common = profile_of([this] { ordinary_step(); });
  if (rare_.every <= 0) return common;
  WorkSeconds mean;
  const WorkSeconds both = profile_of([this] { rare_step_and_next(); });
  for (const std::string& kind : work_kinds()) {
    const double usual = common.at(kind);
    mean[kind] = mean_seconds(usual, both.at(kind) - usual, rare_.every);
  }
  return mean;
}

}  // namespace twill::cli
