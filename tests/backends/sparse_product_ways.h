// SPDX-License-Identifier: Apache-2.0
// Ways of 2:4 products that compute nothing, to choose among.
#pragma once

#include <vector>

#include "backends/cuda/sparse_products/sparse_choice.h"

namespace twill::cuda {

inline bool launches_nothing(const SparseProduct&, SparseOrder, int, std::byte*, cudaStream_t) {
  return false;
}
inline std::int64_t needs_nothing(const SparseProduct&, SparseOrder, int) { return 0; }
inline std::int64_t refuses_odd(const SparseProduct& product, SparseOrder, int) {
  return product.n % 2 == 0 ? 64 : -1;
}

// Two for Hopper, the first of which takes even products alone, and one for every GPU from Ampere on.
inline std::vector<SparseWay> some_ways() {
  return {{.name = "128x256 2x1",
           .workspace = refuses_odd,
           .launch = launches_nothing,
           .oldest_generation = 90,
           .latest_generation = 90},
          {.name = "256x192 2x1",
           .workspace = needs_nothing,
           .launch = launches_nothing,
           .oldest_generation = 90,
           .latest_generation = 90},
          {.name = "mma.sp",
           .workspace = needs_nothing,
           .launch = launches_nothing,
           .oldest_generation = 80}};
}

inline SparseProduct product_of_width(std::int64_t n) { return {.m = 768, .n = n, .k = 3072}; }
inline Device gpu_of(int generation) { return {.num_sms = 132, .generation = generation}; }

}  // namespace twill::cuda
