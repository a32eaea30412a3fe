// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_product.cuh"

namespace twill::cuda {

using namespace sparse;

SparseWay sparse_gelu_128x256() {
  return way<Way<SparseEpilogue::kGelu, Shape<_128, _256, _64>, Shape<_2, _1, _1>>>("128x256 2x1");
}

}  // namespace twill::cuda
