// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
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
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"

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

SafetensorsSet open_weights(const VerifyCommand& command) {
  if (const std::optional<RunFolder> run = RunFolder::find(command.file, command.runs_dir)) {
    const std::string checkpoint = run->require_checkpoint();
    require_undamaged(checkpoint, CheckpointFiles::kModel);
    return open_folder(checkpoint);
  }
  std::error_code ignored;
  if (fs::is_directory(command.file, ignored)) return open_folder(command.file);
  return SafetensorsSet::open_file(command.file);
}

void print_checksums(const SafetensorsSet& set) {
  for (const auto& file : set.files())
    fmt::print("{}: {}\n", file->path(),
               file->verify_checksum() ? "checksum good" : "no checksum: not written by Twill");
}

void print_table(const std::vector<TensorReport>& reports) {
  std::size_t name_width = 6, shape_width = 5;
  for (const TensorReport& report : reports) {
    if (!report.matrix) continue;
    name_width = std::max(name_width, report.name.size());
    shape_width = std::max(shape_width, to_string(report.shape).size());
  }
  fmt::print("\n{:<{}}  {:<{}}  {:<5}  {:>7}  pattern\n", "matrix", name_width, "shape",
             shape_width, "dtype", "density");
  for (const TensorReport& report : reports)
    if (report.matrix)
      fmt::print("{:<{}}  {:<{}}  {:<5}  {:>7.4f}  {}\n", report.name, name_width,
                 to_string(report.shape), shape_width, report.dtype, report.matrix->density(),
                 describe(*report.matrix, report.input));
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
  const SafetensorsSet set = open_weights(command);
  print_checksums(set);
  std::vector<TensorReport> reports;
  for (const auto& file : set.files())
    for (const TensorInfo& info : file->entries()) reports.push_back(examine(*file, info));
  print_table(reports);
  print_rest(reports);
  if (command.json.empty()) return kDone;
  JsonArray tensors;
  for (const TensorReport& report : reports) tensors.push_back(to_json_value(report));
  write_file(command.json, to_json(JsonObject{{"file", set.path()}, {"tensors", tensors}}));
  return kDone;
}

}  // namespace twill::cli
