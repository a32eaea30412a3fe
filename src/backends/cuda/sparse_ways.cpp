// SPDX-License-Identifier: Apache-2.0
// The ways of sparse_product.h by epilogue, the expected best first. On an H200 at its power limit, d 768
// to 4096: of the tiles 128 x 256 wins by up to 16 % where a side is 1600 or 768, 256 x 192 elsewhere by
// up to 9 %, and along tokens by up to 25 %; stream-K, which cuts the work evenly among multiprocessors,
// wins there by 3 to 16 %. mma.sp is there for every GPU from Ampere on.
#include <array>

#include "backends/cuda/sparse_product.h"

namespace twill::cuda {

SparseWay sparse_sum_sm80();
SparseWay sparse_gelu_sm80();
SparseWay sparse_gelu_gradient_sm80();
SparseWay sparse_weight_gradient_sm80();
#ifdef TWILL_HAS_CUTLASS
// One file each: a kernel takes a minute to compile.
SparseWay sparse_sum_128x256();
SparseWay sparse_sum_256x192();
SparseWay sparse_gelu_128x256();
SparseWay sparse_gelu_256x192();
SparseWay sparse_gelu_gradient_128x256();
SparseWay sparse_gelu_gradient_256x192();
SparseWay sparse_weight_gradient_128x256();
SparseWay sparse_weight_gradient_256x192();
#endif

std::span<const SparseWay> sparse_ways(SparseEpilogue epilogue) {
#ifdef TWILL_HAS_CUTLASS
  static const std::array kSum{sparse_sum_128x256(), sparse_sum_256x192(), sparse_sum_sm80()};
  static const std::array kGelu{sparse_gelu_128x256(), sparse_gelu_256x192(), sparse_gelu_sm80()};
  static const std::array kGeluGradient{
      sparse_gelu_gradient_128x256(), sparse_gelu_gradient_256x192(), sparse_gelu_gradient_sm80()};
  static const std::array kWeightGradient{sparse_weight_gradient_128x256(),
                                          sparse_weight_gradient_256x192(),
                                          sparse_weight_gradient_sm80()};
#else
  static const std::array kSum{sparse_sum_sm80()};
  static const std::array kGelu{sparse_gelu_sm80()};
  static const std::array kGeluGradient{sparse_gelu_gradient_sm80()};
  static const std::array kWeightGradient{sparse_weight_gradient_sm80()};
#endif
  switch (epilogue) {
    case SparseEpilogue::kSum:
      return kSum;
    case SparseEpilogue::kGelu:
      return kGelu;
    case SparseEpilogue::kGeluGradient:
      return kGeluGradient;
    case SparseEpilogue::kWeightGradient:
      return kWeightGradient;
  }
  return {};
}

}  // namespace twill::cuda
