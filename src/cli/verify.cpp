// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/commands.h"
#include "exchange/safetensors_set.h"
#include "exchange/tensor_report.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "io/paths.h"
#include "models/model.h"
#include "nn/builder.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/step/memory_use.h"

namespace twill::cli {
namespace {

namespace fs = std::filesystem;

SafetensorsSet open_folder(const std::string& folder) {
  const std::string whole = folder + "/model.safetensors", index = whole + ".index.json";
  if (path_exists(whole)) return SafetensorsSet::open_file(whole);
  require(path_exists(index),
          "{}: holds neither model.safetensors nor an index of shards; name the file", folder);
  return SafetensorsSet::open_index(index);
}

// The checkpoint of a run; empty where the word names no run.
std::string checkpoint_of(const VerifyCommand& command) {
  const std::optional<RunFolder> run = RunFolder::find(command.file, command.runs_dir);
  if (!run) return {};
  std::string checkpoint = run->require_checkpoint();
  require_undamaged(checkpoint, CheckpointFiles::kModel);
  return checkpoint;
}

SafetensorsSet open_weights(const VerifyCommand& command, const std::string& checkpoint) {
  if (!checkpoint.empty()) return open_folder(checkpoint);
  std::error_code ignored;
  if (fs::is_directory(command.file, ignored)) return open_folder(command.file);
  return SafetensorsSet::open_file(command.file);
}

// The weights that leave the house, beside the masters that the file holds. Only where the two differ.
void add_deployed(std::vector<TensorReport>& reports, const std::string& checkpoint) {
  const Context context(cpu_table(), 1);
  Builder builder(context, {.dtype = DType::kF32, .training = false});
  const std::unique_ptr<Model> model = make_model(builder, load_model_config(checkpoint));
  require_memory(context, builder.memory_table());
  builder.commit();
  load_weights(checkpoint, builder);
  for (const LinearSeam& seam : builder.linear_seams()) {
    const View weight = seam.weight->value;
    const auto report = std::ranges::find(reports, seam.weight->name, &TensorReport::name);
    if (report == reports.end() || !report->matrix) continue;
    report->deployed = find_patterns(weight.as<float>(), weight.rows(), weight.cols());
  }
}

std::string deployed_text(const TensorReport& report) {
  const MatrixPatterns& patterns = report.deployed ? *report.deployed : *report.matrix;
  return fmt::format("{:.4f}  {}", patterns.density(), describe(patterns, report.input));
}

void print_checksums(const SafetensorsSet& set) {
  for (const auto& file : set.files())
    fmt::print("{}: {}\n", file->path(),
               file->verify_checksum() ? "checksum good" : "no checksum: not written by Twill");
}

void print_table(const std::vector<TensorReport>& reports) {
  const bool has_deployed =
      std::ranges::any_of(reports, [](const auto& report) { return report.deployed.has_value(); });
  std::size_t name_width = 6, shape_width = 5, pattern_width = 7;
  for (const TensorReport& report : reports) {
    if (!report.matrix) continue;
    name_width = std::max(name_width, report.name.size());
    shape_width = std::max(shape_width, to_string(report.shape).size());
    if (has_deployed)
      pattern_width = std::max(pattern_width, describe(*report.matrix, report.input).size());
  }
  const std::size_t front = name_width + shape_width + 11;
  if (has_deployed)
    fmt::print(
        "\nmasters: the weights that the optimizer changes, in the file; deployed: what "
        "evaluation, "
        "sampling and export take\n\n{:{}}{:<{}}  deployed",
        "", front, "masters", pattern_width + 9);
  fmt::print("\n{:<{}}  {:<{}}  {:<5}  {:>7}  {:<{}}{}\n", "matrix", name_width, "shape",
             shape_width, "dtype", "density", "pattern", has_deployed ? pattern_width : 0,
             has_deployed ? "  density  pattern" : "");
  for (const TensorReport& report : reports)
    if (report.matrix)
      fmt::print("{:<{}}  {:<{}}  {:<5}  {:>7.4f}  {:<{}}{}\n", report.name, name_width,
                 to_string(report.shape), shape_width, report.dtype, report.matrix->density(),
                 describe(*report.matrix, report.input), has_deployed ? pattern_width : 0,
                 has_deployed ? "   " + deployed_text(report) : "");
}

void print_rest(const std::vector<TensorReport>& reports) {
  std::int64_t others = 0, non_finite = 0;
  for (const TensorReport& report : reports) {
    others += !report.matrix;
    non_finite += report.non_finite;
    if (!report.read) fmt::print("{}: {} is not read as numbers\n", report.name, report.dtype);
    if (report.non_finite > 0)
      fmt::print("{}: {} values are not finite\n", report.name, report.non_finite);
  }
  fmt::print("\n{} tensors, {} of them no matrices; {} values are not finite\n", reports.size(),
             others, non_finite);
}

}  // namespace

int run_verify(const VerifyCommand& command) {
  const std::string checkpoint = checkpoint_of(command);
  const SafetensorsSet set = open_weights(command, checkpoint);
  print_checksums(set);
  std::vector<TensorReport> reports;
  for (const auto& file : set.files())
    for (const TensorInfo& info : file->entries()) reports.push_back(examine(*file, info));
  const bool projects = !checkpoint.empty() && num_projected_layers(checkpoint) > 0;
  if (projects) add_deployed(reports, checkpoint);
  print_table(reports);
  if (!checkpoint.empty() && !projects)
    fmt::print("\nno weight is projected now: evaluation, sampling and export take these\n");
  print_rest(reports);
  if (command.json.empty()) return kDone;
  JsonArray tensors;
  for (const TensorReport& report : reports) tensors.push_back(to_json_value(report));
  write_file(command.json, to_json(JsonObject{{"file", set.path()}, {"tensors", tensors}}));
  return kDone;
}

}  // namespace twill::cli
