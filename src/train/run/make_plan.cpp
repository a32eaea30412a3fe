// SPDX-License-Identifier: Apache-2.0
#include "train/run/make_plan.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/cache_folder.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/require.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "models/model.h"
#include "sparsity/engine/engine.h"
#include "sparsity/weights/weight_projection.h"
#include "train/run/device_choice.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

// Another build is another program: its times are its own.
std::string build_mark() {
  struct stat info {};
  if (::stat("/proc/self/exe", &info) != 0) return {};
  return fmt::format("{} {}", info.st_size, info.st_mtime);
}

// Everything that a measured plan depends on.
std::string key_of(const Context& context, const RunConfig& config,
                   const std::vector<PlanEntry>& sites) {
  RecipeConfig recipe = config.recipe;
  ModelConfig model = config.model;  // activations, biases and residuals come with the products
  std::string text = fmt::format(
      "{}\n{}\n{} {} {}\n{} threads\n{} tokens, {} micro-batches, {} steps\n{}", build_mark(),
      cpu_name(), context.kernels().describe(), name_of(storage_type(config, context)),
      packs_matrices(context, storage_type(config, context)) ? "packs" : "packs nothing",
      context.device().num_threads, config.micro_batch_tokens(), config.accumulation(),
      config.train.steps, write_toml(recipe) + write_toml(model));
  for (const PlanEntry& entry : sites)
    text += fmt::format("{} {} {} {} {}\n", entry.phase, entry.site, entry.outputs, entry.inputs,
                        entry.layers);
  return hash_text(hash_bytes(text.data(), text.size()));
}

// Empty where nothing is kept.
fs::path cached_plan(const std::string& key) {
  const fs::path folder = cache_folder();
  return folder.empty() ? fs::path() : folder / "plans" / (key + ".toml");
}

bool needs_any_mask(const PlanEntry& entry, const RecipeConfig& recipe) {
  const bool is_topology =
      recipe.phase[static_cast<std::size_t>(entry.phase)].weights.is_topology();
  const double below = entry.forward_below + entry.dgrad_below + entry.wgrad_below;
  return entry.packs_activations() || (is_topology && below > 0.0);
}

// A plan that cannot be kept or read is measured again next time: nothing is lost but seconds.
std::optional<Plan> read_cached(const fs::path& path, const std::vector<PlanEntry>& sites) {
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return std::nullopt;
  try {
    Plan plan = read_plan(path.string());
    if (fit_of(plan, sites)) return plan;
  } catch (const Error& problem) {
    log_warning(fmt::format("{}; measuring again", problem.what()));
  }
  return std::nullopt;
}

// For a model's layers without their memory. What the recipe asks of them decides the pieces of a head.
Builder::Options layers_alone(const Context& context, const RunConfig& config) {
  return SparsityEngine::asked_of(config.recipe,
                                  {.dtype = storage_type(config, context),
                                   .training = true,
                                   .max_batch = config.train.micro_batch,
                                   .max_time = config.sequence()},
                                  Plan());
}

void keep_plan(const fs::path& path, const Plan& plan) {
  if (path.empty()) return;
  try {
    create_directories(path.parent_path().string());
    write_plan(path.string(), plan);
  } catch (const Error& problem) {
    log_warning(fmt::format("the plan is not kept for later runs: {}", problem.what()));
  }
}

}  // namespace

Plan read_plan(const std::string& path) {
  Plan plan;
  plan.format = 1;  // where the file says nothing
  read(TomlDocument::parse_file(path), plan);
  if (plan.format == 1 && plan.execution == Execution::kAuto) plan.execution = Execution::kFastest;
  plan.format = kPlanFormat;
  return plan;
}

void write_plan(const std::string& path, const Plan& plan) { write_file(path, plan_text(plan)); }

std::string plan_text(Plan plan) { return write_toml(plan); }

void require_plan_fits(const Context& context, const Plan& plan, const RunConfig& config,
                       const std::deque<LinearSeam>& layers, const std::string& path) {
  const Execution execution = config.recipe.execution;
  require(
      plan.execution == execution,
      "{} is a plan of recipe.execution = \"{}\", but this run has \"{}\"; leave `plan` out, or "
      "set the key",
      path, word_of(plan.execution), word_of(execution));
  if (execution == Execution::kMasked) return;
  const std::vector<PlanEntry> sites = planned_sites(config.recipe, layers);
  const PlanFit fit = fit_of(plan, sites);
  if (const PlanEntry* site = fit.missing)
    fail(
        "{} says nothing about weights of {} x {} at {} in phase {} of recipe \"{}\": it is the "
        "plan of another run; leave `plan` out to have it measured, or name the right file",
        path, site->outputs, site->inputs, site->site, site->phase, config.recipe.name);
  if (const PlanEntry* entry = fit.unasked)
    fail(
        "{} has an entry for weights of {} x {} in phase {}, which recipe \"{}\" and this model do "
        "not ask for: it is the plan of another run; leave `plan` out to have it measured, or name "
        "the right file",
        path, entry->outputs, entry->inputs, entry->phase, config.recipe.name);
  for (const PlanEntry& entry : plan.layer)
    require(
        execution == Execution::kFastest || entry.on,
        "{} turns matrices off, which only recipe.execution = \"fastest\" may; set that, or leave "
        "`plan` out",
        path);
  for (const PlanEntry& entry : plan.layer)
    require(packs_matrices(context, storage_type(config, context)) || !entry.on ||
                entry.forward_below + entry.dgrad_below + entry.wgrad_below == 0.0,
            "{} has packed products, which the {} backend does not have; leave `plan` out to have "
            "it measured here",
            path, context.kernels().name);
  for (const PlanEntry& entry : plan.layer)
    require(packs_any_mask(context) || !entry.on || !needs_any_mask(entry, config.recipe),
            "{} has packed products of kept topologies or activations, which the {} backend does "
            "not have; leave `plan` out to have it measured here",
            path, context.kernels().name);
}

Plan make_plan(const Context& context, const RunConfig& config,
               const std::deque<LinearSeam>& layers, const PlanMaking& making) {
  if (!config.plan.empty()) {
    Plan plan = read_plan(config.plan);
    require_plan_fits(context, plan, config, layers, config.plan);
    return plan;
  }
  if (config.recipe.is_dense()) return {};
  require_divisible(config.recipe, layers);  // before an op is tried that could only name itself
  if (config.recipe.execution == Execution::kMasked ||
      config.recipe.execution == Execution::kPacked) {
    const DType type = storage_type(config, context);
    require(config.recipe.execution == Execution::kMasked || packs_matrices(context, type),
            "recipe.execution = \"packed\": the {} backend has no packed products of {} on this "
            "machine; use \"masked\" or \"auto\"",
            context.kernels().name, name_of(type));
    Plan plan = fixed_plan(config.recipe, layers, packs_any_mask(context));
    plan.slowed_by_packed = slowed_by_packed(context);
    return plan;
  }
  const std::vector<PlanEntry> sites = planned_sites(config.recipe, layers);
  const fs::path path = cached_plan(key_of(context, config, sites));
  if (const auto kept = making.fresh ? std::nullopt : read_cached(path, sites)) return *kept;
  const MeasuredElsewhere elsewhere =
      making.elsewhere ? making.elsewhere(context, config) : MeasuredElsewhere::kNo;
  if (elsewhere == MeasuredElsewhere::kKept)
    if (const auto kept = read_cached(path, sites)) return *kept;
  Plan plan = measure_plan(context, config.recipe, layers,
                           {.tokens = config.micro_batch_tokens(),
                            .accumulation = config.accumulation(),
                            .steps = config.train.steps,
                            .type = storage_type(config, context),
                            .is_alone = making.is_alone,
                            .progress = making.progress});
  if (elsewhere == MeasuredElsewhere::kNo) keep_plan(path, plan);
  return plan;
}

Plan make_plan(const Context& context, const RunConfig& config, const PlanMaking& making) {
  Builder builder(context, layers_alone(context, config));
  const std::unique_ptr<Model> model = make_model(builder, config.model);
  return make_plan(context, config, builder.linear_seams(), making);
}

std::vector<ExplainedSite> explain_plan(Context& context, const RunConfig& config,
                                        const Plan& plan) {
  Builder builder(context, layers_alone(context, config));
  const std::unique_ptr<Model> model = make_model(builder, config.model);
  return explain_plan(context, config.recipe, builder.linear_seams(), plan,
                      config.micro_batch_tokens(), storage_type(config, context));
}

}  // namespace twill
