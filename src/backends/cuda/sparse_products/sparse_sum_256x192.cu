// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_product.cuh"

namespace twill::cuda {

using namespace sparse;

SparseWay sparse_sum_256x192() {
  return way<Way<SparseEpilogue::kSum, Shape<_256, Int<192>, _64>, Shape<_2, _1, _1>>>(
      "256x192 2x1");
}

}  // namespace twill::cuda
