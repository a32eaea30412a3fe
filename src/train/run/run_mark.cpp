// SPDX-License-Identifier: Apache-2.0
#include "train/run/run_mark.h"

#if __has_include(<gnu/libc-version.h>)
#include <gnu/libc-version.h>
#endif

#include <fmt/format.h>

#include "base/log.h"
#include "io/atomic_file.h"
#include "io/config/config_lines.h"
#include "io/paths.h"
#include "train/run/checkpoint_files.h"
#include "train/run/sparsity_records.h"

namespace twill {
namespace {

constexpr const char* kRunKey = "twill.run";
constexpr const char* kConfigKey = "twill.config";
constexpr const char* kArithmeticKey = "twill.arithmetic";
constexpr const char* kRunsKey = "twill.runs";

// exp, log and their like are the C library's.
std::string c_library() {
#if __has_include(<gnu/libc-version.h>)
  return fmt::format("glibc {}", ::gnu_get_libc_version());
#else
  return "another C library than glibc";
#endif
}

}  // namespace

namespace {

std::string trained_text(const Trainer& trainer) {
  const std::string text = runs_text(trainer.config().recipe, trainer.sparsity().runs());
  return trainer.sparsity().forced_dense() ? fmt::format("{}; {}", text, kDenseSinceAlarm) : text;
}

}  // namespace

RunMark mark_of(const Trainer& trainer) {
  RunConfig config = trainer.config();
  // Free on resume, with a warning, because it bends the schedule.
  const std::vector<std::string> also{"train.steps"};
  return {.run = config.run.id,
          .step = trainer.progress().step,
          .config = fixed_lines([&](FieldVisitor& visit) { config.fields(visit); }, also),
          .arithmetic = arithmetic_of(trainer.context()),
          .runs = config.recipe.is_dense() ? std::string() : trained_text(trainer)};
}

void write_mark(const Folder& checkpoint, const RunMark& mark, const std::string& weights) {
  AtomicFile file(checkpoint, std::string(kRunFile));
  write_safetensors(file, {},
                    {{kWeightsKey, weights},
                     {kRunKey, mark.run},
                     {kStepKey, std::to_string(mark.step)},
                     {kConfigKey, mark.config},
                     {kArithmeticKey, mark.arithmetic},
                     {kRunsKey, mark.runs}});
}

std::optional<RunMark> read_mark(const std::string& checkpoint) {
  const std::string path = file_in(checkpoint, kRunFile);
  if (!path_exists(path)) return std::nullopt;
  const SafetensorsFile file(path);
  const auto runs = file.metadata().find(kRunsKey);
  return RunMark{.run = metadata_at(file, kRunKey),
                 .step = number_at(file, kStepKey),
                 .config = metadata_at(file, kConfigKey),
                 .arithmetic = metadata_at(file, kArithmeticKey),
                 .runs = runs != file.metadata().end() ? runs->second : std::string()};
}

std::string arithmetic_of(const Context& context) {
  const KernelTable& kernels = context.kernels();
  return fmt::format("{}: {}; {}", kernels.name, kernels.describe(), c_library());
}

void warn_of_other_arithmetic(const std::string& checkpoint, const Context& context) {
  const std::optional<RunMark> mark = read_mark(checkpoint);
  const std::string here = arithmetic_of(context);
  if (!mark || mark->arithmetic == here) return;
  log_warning(
      fmt::format("{} was trained with {}; this process computes with {}: from here on the bits "
                  "may differ from those of a run that was not stopped",
                  checkpoint, mark->arithmetic, here));
}

}  // namespace twill
