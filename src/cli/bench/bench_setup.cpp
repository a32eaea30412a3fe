// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_setup.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/planning/supervisor.h"
#include "cli/screen/moving_line.h"
#include "cli/screen/text_format.h"
#include "cli/screen/words.h"
#include "train/run/device_choice.h"
#include "train/run/make_plan.h"
#include "train/run/run_data.h"

namespace twill::cli {
namespace {

Plan planned_by(PlanMaking making, const Context& context, const RunConfig& config) {
  MovingLine line;
  making.progress = [&](std::int64_t done, std::int64_t all) {
    line.show("measuring the plan", done, all);
  };
  return make_plan(context, config, making);
}

}  // namespace

RunConfig measured_config(const std::vector<std::string>& words, bool own_model, NoRecipe nobody) {
  Words given = split_words(words);
  const bool names_model = std::ranges::any_of(
      given.overrides, [](const std::string& word) { return word.starts_with("model"); });
  if (!own_model && given.config_file.empty() && !names_model)
    given.overrides.insert(given.overrides.begin(), "model=small");
  return set_up(read_run_config(given.config_file, given.overrides, nobody)).config;
}

Plan planned(const Context& context, const RunConfig& config, bool fresh) {
  const Supervisor supervisor;
  const auto elsewhere = [&](const Context& here, const RunConfig& wanted) {
    return supervisor.measure_plan(here, wanted);
  };
  return planned_by({.fresh = fresh, .elsewhere = elsewhere}, context, config);
}

Plan planned_here(const Context& context, const RunConfig& config, bool fresh) {
  return planned_by({.fresh = fresh, .is_alone = true}, context, config);
}

std::string describe_run(const RunConfig& config, const Context& context) {
  const KernelTable& kernels = context.kernels();
  const std::string model =
      fmt::format("{}: {} parameters, {} x {} tokens", config.model.name,
                  format_count(static_cast<double>(num_parameters(config.model))),
                  config.train.micro_batch, config.sequence());
  if (kernels.find_device == nullptr)
    return fmt::format("{}, {} threads, {}", model, context.device().num_threads, kernels.name);
  Device device;
  return fmt::format("{}, {}, {}", model, name_of(storage_type(config, context)),
                     kernels.find_device(context.device().index, device).text);
}

}  // namespace twill::cli
