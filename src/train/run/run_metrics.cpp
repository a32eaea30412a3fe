// SPDX-License-Identifier: Apache-2.0
#include "train/run/run_metrics.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "io/atomic_file.h"
#include "io/json/json.h"
#include "io/json/json_value.h"
#include "twill/error.h"

namespace twill {
namespace {

std::optional<double> validation_loss_in(std::string_view line) {
  // Most lines are steps: only those that can hold one are parsed.
  if (line.find("\"val_loss\"") == line.npos) return std::nullopt;
  try {
    const JsonValue record = parse_json_value(line);
    const JsonValue* loss = record.find("val_loss");
    return loss == nullptr ? std::nullopt : loss->number();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

MetricsSummary summarise_metrics(const std::string& path) {
  MetricsSummary summary;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return summary;
  const std::string content = read_file(path);
  std::string_view last;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = content.find('\n', begin);
    if (end == content.npos) break;  // torn by a kill
    const std::string_view line(content.data() + begin, end - begin);
    if (const std::optional<double> loss = validation_loss_in(line)) {
      if (!summary.first_validation_loss) summary.first_validation_loss = loss;
      summary.last_validation_loss = loss;
    }
    last = line;
    begin = end + 1;
  }
  if (!last.empty()) summary.last_step = json_integer_at(last, "step").value_or(-1);
  return summary;
}

}  // namespace twill
