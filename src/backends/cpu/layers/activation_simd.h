// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/layers/activation.h"

namespace twill::cpu {

// y[i] = f(x[i]) and dx[i] = dy[i] f'(x[i]), for plain activations.
void activate(Activation kind, const float* x, float* y, std::int64_t n);
void activate_backward(Activation kind, const float* x, const float* dy, float* dx, std::int64_t n);

// One row of a gated activation: x = [value (n) | gate (n)], dx = [dvalue (n) | dgate (n)].
void activate_gated(Activation kind, const float* x, float* y, std::int64_t n);
void activate_gated_backward(Activation kind, const float* x, const float* dy, float* dx,
                             std::int64_t n);

}  // namespace twill::cpu
