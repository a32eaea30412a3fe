// SPDX-License-Identifier: Apache-2.0
// choices.txt of a run that commit 40938eb left on an H200: a run is resumed with the algorithms it had,
// whatever has been built since. The text is that build's own.
#include <gtest/gtest.h>

#include "backends/cuda/products/product_plan.h"
#include "backends/cuda/sparse_products/sparse_cache.h"
#include "backends/products.h"
#include "backends/sparse_product_ways.h"
#include "ops/products/gemm.h"

namespace twill::cuda {
namespace {

constexpr const char* kOld =
    "twill products 6: NVIDIA H200, 132 SMs, cuBLASLt 130100\n"
    "768 50304 8192 1 0 1 2 0 0 16 8 4 0 0 0 "
    "0000000000000009000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000001\n"
    "3072 8192 768 0 0 0 2 664154998211506084 17 0 0 0 16 0 0 "
    "297da674474cdb5b000000000000000200000000000000040000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "8192 2304 768 0 1 0 2 2 0 16 16 16 16 0 0 "
    "000000420000000200000000000000010123456789abcdef0000000000000000"
    "000000000000000000000000000000070000000000000000fedcba9876543210\n"
    "8192 3072 768 0 0 0 2 2 2 16 16 16 0 0 16 "
    "0000000000000042000000000000000200000000000000030000000000000004"
    "0000000000000005000000000000000600000000000000070000000000000008\n"
    "8192 3072 768 0 1 0 2 2 1 16 16 16 16 0 16 "
    "0000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "checksum b66d3a988a22f6bb\n";

template <typename Enum>
std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

Algorithm known(const ProductPlan& plan, const ProductKey& key) {
  const Algorithm* found = plan.known(key);
  if (found == nullptr) ADD_FAILURE() << "the old run's choice is not found";
  return found == nullptr ? algorithm(99) : *found;
}

// Products of GPT-2 124M with 8192 tokens.
TEST(OldChoices, OfDenseProductsAreFound) {
  ProductPlan plan(some_machine(), {});
  const LoggedLines lines;
  plan.load_choices(kOld);
  EXPECT_TRUE(lines.get().empty());
  const std::int64_t bf16 = number(DType::kBf16);
  EXPECT_EQ(known(plan, {.m = 8192,
                         .n = 2304,
                         .k = 768,
                         .trans_b = 1,
                         .type = bf16,
                         .result_type = bf16,
                         .align_a = 16,
                         .align_b = 16,
                         .align_c = 16,
                         .align_bias = 16}),
            (Algorithm{0x4200000002, 1, 0x0123456789abcdef, 0, 0, 7, 0, 0xfedcba9876543210}));
  EXPECT_EQ(known(plan, {.m = 8192,
                         .n = 3072,
                         .k = 768,
                         .trans_b = 1,
                         .type = bf16,
                         .result_type = bf16,
                         .epilogue = number(GemmEpilogue::kActivation),
                         .align_a = 16,
                         .align_b = 16,
                         .align_c = 16,
                         .align_bias = 16,
                         .align_before = 16}),
            kInTwoSteps);
  EXPECT_EQ(known(plan, {.m = 8192,
                         .n = 3072,
                         .k = 768,
                         .type = bf16,
                         .result_type = bf16,
                         .epilogue = number(GemmEpilogue::kActivationGradient),
                         .align_a = 16,
                         .align_b = 16,
                         .align_c = 16,
                         .align_before = 16}),
            (Algorithm{0x42, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(known(plan, {.m = 768,
                         .n = 50304,
                         .k = 8192,
                         .trans_a = 1,
                         .accumulate = 1,
                         .type = bf16,
                         .result_type = number(DType::kF32),
                         .align_a = 16,
                         .align_b = 8,
                         .align_c = 4}),
            (Algorithm{9, 0, 0, 0, 0, 0, 0, 1}));
}

// The ways of a product with GELU on Hopper are called as they were then (sparse_ways.cmake).
TEST(OldChoices, OfSparseProductsAreFound) {
  std::vector<SparseWay> ways = some_ways();
  ways[0].name = "128x256 2x1 overlapped";
  ways[1].name = "128x256 2x1";
  const int bias = 0;
  const SparseProduct product{.m = 3072, .n = 8192, .k = 768, .bias = &bias};
  const SparseChoices choices(ways, product, gpu_of(90));
  ProductPlan plan(some_machine(), {});
  plan.load_choices(kOld);
  const Algorithm old = known(plan, sparse_key(SparseEpilogue::kGelu, product, choices));
  EXPECT_EQ(from_algorithm(choices, old),
            (SparseChoice{.way = 0, .order = {.along_n = true, .swizzle = 4}}));
}

// Saved again by this build, nothing of it is lost or written otherwise.
TEST(OldChoices, AreSavedAsTheyWere) {
  ProductPlan plan(some_machine(), {});
  plan.load_choices(kOld);
  EXPECT_EQ(plan.choices(), kOld);
}

}  // namespace
}  // namespace twill::cuda
