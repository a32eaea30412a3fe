// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_overlapped.cuh"

namespace twill::cuda {

using namespace sparse;

SparseWay sparse_sum_overlapped() {
  return way<OverlappedWay<SparseEpilogue::kSum>>("128x256 2x1 overlapped");
}

}  // namespace twill::cuda
