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
std::vector<SparseWay> sparse_ways_sm90(SparseEpilogue epilogue);  // written by the build
#else
static std::vector<SparseWay> sparse_ways_sm90(SparseEpilogue) { return {}; }
#endif

namespace {

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
