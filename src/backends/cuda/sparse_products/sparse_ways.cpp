// SPDX-License-Identifier: Apache-2.0
// The ways of sparse_product.h by epilogue, the expected best first. On an H200 at its power limit, d 768
// to 4096: an epilogue under the next tile wins by 3 to 9 % where there is one; of CUTLASS's tiles 128 x
// 256 by up to 16 % where a side is 1600 or 768, 256 x 192 elsewhere by up to 9 %, and along tokens by up
// to 25 %; stream-K, which cuts the work evenly among multiprocessors, wins there by 3 to 16 %. Squared
// ReLU, gated activations, GELU's gradient and slopes have one way only. mma.sp is there for every GPU from Ampere on.
#include <array>
#include <vector>

#include "backends/cuda/sparse_products/sparse_product.h"

namespace twill::cuda {

SparseWay sparse_way_sm80(SparseEpilogue epilogue);
#ifdef TWILL_HAS_CUTLASS
// One file each: a kernel takes a minute to compile.
SparseWay sparse_sum_overlapped();
SparseWay sparse_sum_128x256();
SparseWay sparse_sum_256x192();
SparseWay sparse_gelu_overlapped();
SparseWay sparse_gelu_128x256();
SparseWay sparse_gelu_gradient_128x256();
SparseWay sparse_gelu_slope_overlapped();
SparseWay sparse_times_slope_overlapped();
SparseWay sparse_weight_gradient_128x256();
SparseWay sparse_weight_gradient_256x192();
SparseWay sparse_relu2_overlapped();
SparseWay sparse_relu2_gradient_128x256();
SparseWay sparse_swiglu_128x256();
SparseWay sparse_geglu_128x256();
SparseWay sparse_geglu_tanh_128x256();
#endif

namespace {

std::vector<SparseWay> sparse_ways_sm90(SparseEpilogue epilogue) {
#ifdef TWILL_HAS_CUTLASS
  switch (epilogue) {
    case SparseEpilogue::kSum:
      return {sparse_sum_overlapped(), sparse_sum_128x256(), sparse_sum_256x192()};
    case SparseEpilogue::kGelu:
      return {sparse_gelu_overlapped(), sparse_gelu_128x256()};
    case SparseEpilogue::kGeluGradient:
      return {sparse_gelu_gradient_128x256()};
    case SparseEpilogue::kGeluSlope:
      return {sparse_gelu_slope_overlapped()};
    case SparseEpilogue::kTimesSlope:
      return {sparse_times_slope_overlapped()};
    case SparseEpilogue::kWeightGradient:
      return {sparse_weight_gradient_128x256(), sparse_weight_gradient_256x192()};
    case SparseEpilogue::kRelu2:
      return {sparse_relu2_overlapped()};
    case SparseEpilogue::kRelu2Gradient:
      return {sparse_relu2_gradient_128x256()};
    case SparseEpilogue::kSwiglu:
      return {sparse_swiglu_128x256()};
    case SparseEpilogue::kGeglu:
      return {sparse_geglu_128x256()};
    case SparseEpilogue::kGegluTanh:
      return {sparse_geglu_tanh_128x256()};
  }
#else
  static_cast<void>(epilogue);
#endif
  return {};
}

using SparseWays = std::array<std::vector<SparseWay>, kSparseEpilogues>;

SparseWays all_sparse_ways() {
  SparseWays all;
  for (int i = 0; i < kSparseEpilogues; ++i) {
    const auto epilogue = static_cast<SparseEpilogue>(i);
    std::vector<SparseWay>& ways = all[static_cast<std::size_t>(i)];
    ways = sparse_ways_sm90(epilogue);
    ways.push_back(sparse_way_sm80(epilogue));
  }
  return all;
}

}  // namespace

std::span<const SparseWay> sparse_ways(SparseEpilogue epilogue) {
  static const SparseWays kAll = all_sparse_ways();
  return kAll[static_cast<std::size_t>(epilogue)];
}

}  // namespace twill::cuda
