// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace twill::cpu {

// The scalars of an AdamW step, computed in f64 and rounded once.
struct AdamwCoefficients {
  float grad_scale;
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float inverse_correction1;  // 1 / (1 - beta1^step)
  float inverse_correction2;  // 1 / (1 - beta2^step)
  float eps;
  float lr;
  float weight_decay;
  bool freeze_v;
};

struct AdamwTensors {
  float* weight;
  const float* grad;
  float* m;
  float* v;
};

void adamw_range(const AdamwCoefficients& c, const AdamwTensors& t, std::int64_t begin,
                 std::int64_t end);

}  // namespace twill::cpu
