// SPDX-License-Identifier: Apache-2.0
// twill plan: what the layers of a recipe cost dense and packed here, and what a run would make of
// it.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/bench/bench_setup.h"
#include "cli/commands.h"
#include "cli/planning/explain_report.h"
#include "cli/planning/plan_report.h"
#include "cli/screen/moving_line.h"
#include "cli/screen/text_format.h"
#include "io/atomic_file.h"
#include "measure/ratio.h"
#include "train/run/device_choice.h"
#include "train/run/make_plan.h"
#include "train/run/run_data.h"
#include "train/step/trainer.h"

namespace twill::cli {
namespace {

// A step has the work of an update besides its micro-batches: with four of them it is spread thinly
// enough, and 64 would only take longer.
constexpr std::int64_t kMostMicroBatches = 4;
constexpr std::int64_t kFewestDenseSteps = 3, kMostDenseSteps = 10;
constexpr double kDenseStepSeconds = 2.0;

// Per micro-batch, the median of a few dense steps on the built-in text: which text changes nothing.
double dense_step_seconds(const Context& context, RunConfig config) {
  config.recipe = RecipeConfig();
  config.recipe.health.every = 0;
  config.plan.clear();
  config.data = DataConfig();
  config.data.tokenizer = "byte";
  config.eval.windows = 1;
  const std::int64_t micro_batches = std::min(config.accumulation(), kMostMicroBatches);
  config.train.batch_tokens = micro_batches * config.micro_batch_tokens();
  Trainer trainer(context, config, open_run_data(config), Plan());
  trainer.begin();
  MovingLine line;
  line.show("timing dense steps");
  trainer.step();  // warms caches and page tables
  std::vector<double> seconds;
  double spent = 0.0;
  for (std::int64_t step = 0;
       step < kFewestDenseSteps || (step < kMostDenseSteps && spent < kDenseStepSeconds); ++step) {
    seconds.push_back(trainer.step().seconds);
    spent += seconds.back();
  }
  return median_of(seconds) / static_cast<double>(micro_batches);
}

}  // namespace

int run_plan(const PlanCommand& command) {
  RunConfig config = measured_config(command.words, /*own_model=*/true, NoRecipe::kPreset);
  require(!config.recipe.is_dense(),
          "recipe {} is dense: there is nothing to plan; name one of `{} recipes`, as recipe=fst",
          config.recipe.name, command_name());
  Context context = open_context(config);
  const Execution execution = config.recipe.execution;
  const bool is_fixed = execution == Execution::kMasked || execution == Execution::kPacked;
  if (config.plan.empty() && is_fixed) config.recipe.execution = Execution::kAuto;
  if (command.quiet) {
    require(command.json.empty(), "plan --quiet tells nothing: leave out --quiet, or --json {}",
            command.json);
    require(!command.explain, "plan --quiet tells nothing: leave out --quiet, or --explain");
    static_cast<void>(planned_here(context, config, command.fresh));
    return kDone;
  }
  PlanReport report = plan_report(config, planned(context, config, command.fresh));
  const bool measured = std::ranges::any_of(report.plan.layer, is_measured);
  if (measured) report.dense_step_seconds = dense_step_seconds(context, config);
  fmt::print("{}\nrecipe {}: {}\n\n{}", describe_run(config, context), config.recipe.name,
             config.recipe.summary, plan_table(report));
  std::vector<ExplainedSite> explained;
  if (command.explain) explained = explain_plan(context, config, report.plan);
  if (command.explain) fmt::print("{}", explanation(explained));
  if (!measured)
    fmt::print("\nnothing was measured: {}\n", config.plan.empty()
                                                   ? "no part of this recipe can run packed here"
                                                   : "the plan comes from " + config.plan);
  if (is_fixed && config.plan.empty())
    fmt::print("\nthis config has recipe.execution = \"{}\": a run would not follow the table\n",
               word_of(execution));
  if (!command.json.empty()) {
    JsonObject object = *json_of(report).object();
    if (command.explain) object.emplace_back("kernels", json_of(explained));
    write_file(command.json, to_json(object));
  }
  return kDone;
}

}  // namespace twill::cli
