// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/ratio_report.h"

#include <fmt/format.h>

namespace twill::cli {

std::string text_of(const PairedRatio& ratio) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", ratio.median, ratio.low, ratio.high);
}

JsonValue json_of(const PairedRatio& ratio) {
  return JsonObject{
      {"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}, {"pairs", ratio.pairs}};
}

}  // namespace twill::cli
