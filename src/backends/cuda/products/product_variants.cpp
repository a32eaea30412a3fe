// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/products/product_variants.h"

#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace twill::cuda {
namespace {

// The library lists some hundred tiles; these are the ones that fill wgmma or mma.sync and leave
// room for at least three stages in 227 KB. Rows and columns are the library's, so both ways round.
constexpr std::uint32_t kTiles[] = {
    CUBLASLT_MATMUL_TILE_128x256, CUBLASLT_MATMUL_TILE_256x128, CUBLASLT_MATMUL_TILE_128x192,
    CUBLASLT_MATMUL_TILE_192x128, CUBLASLT_MATMUL_TILE_128x128, CUBLASLT_MATMUL_TILE_256x192,
    CUBLASLT_MATMUL_TILE_192x256, CUBLASLT_MATMUL_TILE_192x192, CUBLASLT_MATMUL_TILE_128x224,
    CUBLASLT_MATMUL_TILE_256x160, CUBLASLT_MATMUL_TILE_128x160, CUBLASLT_MATMUL_TILE_160x128,
    CUBLASLT_MATMUL_TILE_64x256,  CUBLASLT_MATMUL_TILE_256x64,  CUBLASLT_MATMUL_TILE_128x320,
    CUBLASLT_MATMUL_TILE_320x128, CUBLASLT_MATMUL_TILE_64x128,  CUBLASLT_MATMUL_TILE_128x64};

// No capability lists these. More than eight blocks are not portable.
constexpr std::uint16_t kClusters[] = {CUBLASLT_CLUSTER_SHAPE_2x1x1, CUBLASLT_CLUSTER_SHAPE_1x2x1,
                                       CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x2x1,
                                       CUBLASLT_CLUSTER_SHAPE_4x1x1, CUBLASLT_CLUSTER_SHAPE_1x4x1,
                                       CUBLASLT_CLUSTER_SHAPE_AUTO};

constexpr std::uint32_t kSwizzlings[] = {0, 1};
constexpr std::uint16_t kInnerShapes[] = {CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED,
                                          CUBLASLT_MATMUL_INNER_SHAPE_MMA1688,
                                          CUBLASLT_MATMUL_INNER_SHAPE_MMA16816};

// Parts of K: beyond eight their sums cost more than the waves that they fill.
constexpr std::int32_t kSplits[] = {1, 2, 3, 4, 6, 8};

class Variants {
 public:
  explicit Variants(const Algorithm& base)
      : base_(base), algo_(std::bit_cast<cublasLtMatmulAlgo_t>(base)) {}

  template <class T>
  void try_values(cublasLtMatmulAlgoConfigAttributes_t attribute, std::span<const T> values) {
    for (const T value : values) {
      cublasLtMatmulAlgo_t changed = algo_;
      if (set(changed, attribute, value)) add(changed);
    }
  }

  void try_splits(std::uint32_t reductions) {
    if (number<std::int32_t>(CUBLASLT_ALGO_CAP_SPLITK_SUPPORT).value_or(0) == 0) return;
    const std::uint32_t known =
        number<std::uint32_t>(CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK).value_or(0);
    for (const std::int32_t splits : kSplits)
      for (const std::uint32_t scheme : {std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
                                         std::uint32_t{CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}})
        if ((scheme & known & reductions) != 0) try_split(splits, scheme);
  }

  // The values that a capability lists.
  std::vector<std::uint32_t> listed(cublasLtMatmulAlgoCapAttributes_t capability) const {
    std::size_t bytes = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(&algo_, capability, nullptr, 0, &bytes) !=
        CUBLAS_STATUS_SUCCESS)
      return {};
    std::vector<std::uint32_t> values(bytes / sizeof(std::uint32_t));
    if (values.empty() || cublasLtMatmulAlgoCapGetAttribute(&algo_, capability, values.data(),
                                                            values.size() * sizeof(std::uint32_t),
                                                            &bytes) != CUBLAS_STATUS_SUCCESS)
      return {};
    return values;
  }

  template <class T>
  std::optional<T> number(cublasLtMatmulAlgoCapAttributes_t capability) const {
    T value{};
    std::size_t bytes = 0;
    const bool is_known =
        cublasLtMatmulAlgoCapGetAttribute(&algo_, capability, &value, sizeof(value), &bytes) ==
        CUBLAS_STATUS_SUCCESS;
    return is_known ? std::optional(value) : std::nullopt;
  }

  std::vector<Algorithm> take() && { return std::move(found_); }

 private:
  template <class T>
  static bool set(cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                  const T& value) {
    return cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof(value)) ==
           CUBLAS_STATUS_SUCCESS;
  }

  void try_split(std::int32_t splits, std::uint32_t scheme) {
    const std::uint32_t used = splits == 1 ? std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE} : scheme;
    cublasLtMatmulAlgo_t changed = algo_;
    if (set(changed, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, splits) &&
        set(changed, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, used))
      add(changed);
  }

  void add(const cublasLtMatmulAlgo_t& algo) {
    const auto variant = std::bit_cast<Algorithm>(algo);
    if (variant != base_ && std::ranges::find(found_, variant) == found_.end())
      found_.push_back(variant);
  }

  Algorithm base_;
  cublasLtMatmulAlgo_t algo_;
  std::vector<Algorithm> found_;
};

std::vector<std::uint32_t> good_tiles(const std::vector<std::uint32_t>& allowed) {
  std::vector<std::uint32_t> tiles;
  std::ranges::copy_if(kTiles, std::back_inserter(tiles), [&](std::uint32_t tile) {
    return std::ranges::find(allowed, tile) != allowed.end();
  });
  return tiles;
}

}  // namespace

std::vector<Algorithm> variants_of(const Algorithm& base, Setting setting,
                                   std::uint32_t reductions) {
  Variants variants(base);
  switch (setting) {
    case Setting::kTile:
      variants.try_values<std::uint32_t>(CUBLASLT_ALGO_CONFIG_TILE_ID,
                                         good_tiles(variants.listed(CUBLASLT_ALGO_CAP_TILE_IDS)));
      break;
    case Setting::kCluster:
      variants.try_values<std::uint16_t>(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, kClusters);
      break;
    case Setting::kStages:
      variants.try_values<std::uint32_t>(CUBLASLT_ALGO_CONFIG_STAGES_ID,
                                         variants.listed(CUBLASLT_ALGO_CAP_STAGES_IDS));
      break;
    case Setting::kSwizzling:
      if (variants.number<std::uint32_t>(CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT).value_or(0) != 0)
        variants.try_values<std::uint32_t>(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, kSwizzlings);
      break;
    case Setting::kInnerShape:
      variants.try_values<std::uint16_t>(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, kInnerShapes);
      break;
    case Setting::kSplits:
      variants.try_splits(reductions);
      break;
  }
  return std::move(variants).take();
}

}  // namespace twill::cuda
