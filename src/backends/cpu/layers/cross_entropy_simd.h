// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace twill::cpu {

// Loss of one row; writes its gradient when dlogits is not nullptr (it may be logits).
float cross_entropy_row(const float* logits, std::int64_t target, std::int64_t n, float* dlogits,
                        double scale);

// The first of the largest of n > 0 numbers, none of them NaN.
std::int32_t largest_id(const float* x, std::int64_t n);

}  // namespace twill::cpu
