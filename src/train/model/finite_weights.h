// SPDX-License-Identifier: Apache-2.0
// A weight that is NaN or infinite makes every result of a model NaN: such a model is neither taken in,
// nor given away, nor does it replace a checkpoint.
#pragma once

#include <string>

#include "nn/builder.h"

namespace twill {

// "blocks.0.attention.input.weight (3 of 768 values)" of the first such parameter; empty: all are
// finite. Masters must be in host memory (train/step/host_masters.h).
std::string find_nonfinite(const Builder& builder);

// Throws `path: holds weights that are not finite: …`.
void require_finite_weights(const Builder& builder, const std::string& path);

}  // namespace twill
