// SPDX-License-Identifier: Apache-2.0
// Which weights are exported: while a recipe projects the forward product's weight, evaluation, sampling
// and export take the projected one.
#pragma once

#include <string>

#include "nn/builder.h"

namespace twill {

// How one layer's weight is projected, as a checkpoint says it: "mask", "soft-within-row 0x1.8p+0",
// "soft-within-column 0x1.8p+0".
struct Deployment {
  std::string layer;  // name of its seam
  std::string rule;
};

// Replaces the weight by what the forward product multiplied with. `mask` is read by the rule "mask"
// only. Throws on a rule it does not know.
void deploy(const Context& context, const Deployment& deployment, ConstView mask, View weight);

}  // namespace twill
