// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/deployment.h"

#include <cstdlib>

#include "base/require.h"
#include "ops/selection/mask.h"
#include "ops/selection/soft_threshold24.h"

namespace twill {

void deploy(const Context& context, const Deployment& deployment, ConstView mask, View weight) {
  const std::string& rule = deployment.rule;
  if (rule == "mask") return apply_mask(context, {.x = weight, .mask = mask, .y = weight});
  const std::size_t space = rule.find(' ');
  const std::string kind = rule.substr(0, space);
  const bool rows = kind == "soft-within-row";
  require((rows || kind == "soft-within-column") && space != std::string::npos,
          "layer {} is projected by an unknown rule: '{}'", deployment.layer, rule);
  soft_threshold24(context, {.x = weight,
                             .y = weight,
                             .axis = rows ? GroupAxis::kWithinRow : GroupAxis::kWithinColumn,
                             .scale = std::strtod(rule.c_str() + space, nullptr)});
}

}  // namespace twill
