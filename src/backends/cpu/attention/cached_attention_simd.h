// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace twill::cpu {

// One query over `count` >= 1 cached tokens; token j lies at k + j stride and v + j stride.
struct CachedHead {
  const float* q;  // (D)
  const float* k;
  const float* v;
  float* out;  // (D)
  std::int64_t count;
  std::int64_t stride;
  std::int64_t D;
  float scale;
};
void attend_cached(const CachedHead& head);

}  // namespace twill::cpu
