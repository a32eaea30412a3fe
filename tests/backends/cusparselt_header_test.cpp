// SPDX-License-Identifier: Apache-2.0
// Our declarations of cuSPARSELt against its own header, where `./twill deps cusparselt` has put one.
#include <cusparseLt.h>

#include <type_traits>

#include <gtest/gtest.h>

#include "backends/cuda/sparse_products/cusparselt_library.h"

namespace twill::cuda::cusparselt {
namespace {

static_assert(CUSPARSELT_VER_MAJOR == kKnownMajor && CUSPARSELT_VER_MINOR == kKnownMinor);
static_assert(kSuccess == CUSPARSE_STATUS_SUCCESS);
static_assert(kNoTranspose == CUSPARSE_OPERATION_NON_TRANSPOSE);
static_assert(kTranspose == CUSPARSE_OPERATION_TRANSPOSE);
static_assert(kOrderColumns == CUSPARSE_ORDER_COL && kOrderRows == CUSPARSE_ORDER_ROW);
static_assert(kHalfSparse == CUSPARSELT_SPARSITY_50_PERCENT);
static_assert(kComputeF32 == CUSPARSE_COMPUTE_32F);
static_assert(kDefaultChoice == CUSPARSELT_MATMUL_ALG_DEFAULT);
static_assert(kAlgorithmId == CUSPARSELT_MATMUL_ALG_CONFIG_ID);
static_assert(kSplitK == CUSPARSELT_MATMUL_SPLIT_K);
static_assert(kMajorVersion == MAJOR_VERSION && kMinorVersion == MINOR_VERSION &&
              kPatchVersion == PATCH_LEVEL);
static_assert(sizeof(cusparseLtHandle_t) <= sizeof(Opaque));
static_assert(sizeof(cusparseLtMatmulPlan_t) <= sizeof(Opaque));
static_assert(alignof(cusparseLtMatmulPlan_t) <= alignof(Opaque));

// The same calling convention: as many arguments, each of the same size and kind, where an enumeration
// is an int and a structure of the library's is any pointer.
template <class Ours, class Theirs>
constexpr bool same_argument() {
  if constexpr (std::is_pointer_v<Ours>) return std::is_pointer_v<Theirs>;
  if constexpr (std::is_enum_v<Theirs>) return std::is_same_v<Ours, int> && sizeof(Theirs) == 4;
  return std::is_same_v<Ours, Theirs>;
}
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
constexpr bool same_function(OurResult (*)(Ours...), TheirResult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs))
    return false;
  else
    return same_argument<OurResult, TheirResult>() && (same_argument<Ours, Theirs>() && ...);
}

#define TWILL_SAME(name) EXPECT_TRUE(same_function(Library{}.name, decltype(&cusparseLt##name){}))

TEST(CusparseltHeader, HasWhatWeDeclare) {
  TWILL_SAME(Init);
  TWILL_SAME(Destroy);
  TWILL_SAME(GetProperty);
  TWILL_SAME(GetErrorName);
  TWILL_SAME(DenseDescriptorInit);
  TWILL_SAME(StructuredDescriptorInit);
  TWILL_SAME(MatDescriptorDestroy);
  TWILL_SAME(MatmulDescriptorInit);
  TWILL_SAME(MatmulAlgSelectionInit);
  TWILL_SAME(MatmulAlgSelectionDestroy);
  TWILL_SAME(MatmulAlgGetAttribute);
  TWILL_SAME(MatmulPlanInit);
  TWILL_SAME(MatmulPlanDestroy);
  TWILL_SAME(MatmulGetWorkspace);
  TWILL_SAME(Matmul);
  TWILL_SAME(MatmulSearch);
  TWILL_SAME(SpMMAPruneCheck2);
  TWILL_SAME(SpMMACompressedSize2);
  TWILL_SAME(SpMMACompress2);
}

}  // namespace
}  // namespace twill::cuda::cusparselt
