// SPDX-License-Identifier: Apache-2.0
#include "exchange/tensor_report.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace twill {
namespace {

JsonValue to_json_value(const AxisPatterns& patterns) {
  JsonArray strips;
  for (const StripPattern& strip : patterns.strips)
    strips.emplace_back(fmt::format("{}:2:{}", strip.strip, strip.group));
  return JsonObject{
      {"1:4", patterns.one_of_four}, {"2:4", patterns.two_of_four}, {"V:2:M", strips}};
}

const char* name_of(InputAxis axis) {
  if (axis == InputAxis::kUnknown) return "unknown";
  return axis == InputAxis::kRows ? "rows" : "columns";
}

JsonObject members_of(const MatrixPatterns& matrix, InputAxis input) {
  return {{"density", matrix.density()},
          {"along_rows", to_json_value(matrix.along_rows)},
          {"along_columns", to_json_value(matrix.along_columns)},
          {"transposable", matrix.transposable()},
          {"pattern", describe(matrix, input)}};
}

}  // namespace

TensorReport examine(const SafetensorsFile& file, const TensorInfo& info) {
  TensorReport report{
      .name = info.name, .dtype = info.dtype_name, .shape = info.shape, .matrix = {}};
  report.read = is_floating(info);
  report.input = input_axis(info.name);
  if (!report.read) return report;
  std::vector<float> values(static_cast<std::size_t>(info.shape.num_elements()));
  file.read_floats(info.name, values.data());
  const auto count = [&](const auto& test) { return std::ranges::count_if(values, test); };
  report.nonzeros = count([](float v) { return v != 0.0f; });
  report.non_finite = count([](float v) { return !std::isfinite(v); });
  if (info.shape.rank() == 2)
    report.matrix = find_patterns(values.data(), info.shape[0], info.shape[1]);
  return report;
}

JsonValue to_json_value(const TensorReport& report) {
  JsonArray shape;
  for (int axis = 0; axis < report.shape.rank(); ++axis) shape.emplace_back(report.shape[axis]);
  JsonObject json{{"name", report.name}, {"dtype", report.dtype}, {"shape", shape}};
  if (!report.read) return json;
  json.emplace_back("nonzeros", report.nonzeros);
  json.emplace_back("non_finite", report.non_finite);
  if (!report.matrix) return json;
  json.emplace_back("input_axis", name_of(report.input));
  for (auto& member : members_of(*report.matrix, report.input)) json.push_back(std::move(member));
  if (report.deployed) json.emplace_back("deployed", members_of(*report.deployed, report.input));
  return json;
}

}  // namespace twill
