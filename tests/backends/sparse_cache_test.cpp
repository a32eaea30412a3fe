// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_cache.h"

#include <string_view>

#include <gtest/gtest.h>

#include "backends/products.h"
#include "backends/sparse_product_ways.h"
#include "base/hash.h"

namespace twill::cuda {
namespace {

std::uint64_t hash_of(std::string_view text) { return hash_bytes(text.data(), text.size()); }

struct Chosen {
  explicit Chosen(int generation = 90)
      : choices(ways, product, gpu_of(generation)),
        key(sparse_key(SparseEpilogue::kGelu, product, choices)) {}

  std::vector<SparseWay> ways = some_ways();
  SparseProduct product = product_of_width(8);
  SparseChoices choices;
  ProductKey key;
};

// Files of earlier builds are read: these numbers stand in them.
TEST(SparseCache, KeepsItsNumbers) {
  const Chosen chosen;
  EXPECT_EQ(to_algorithm(chosen.choices, {.way = 1, .order = {.along_n = true, .swizzle = 4}}),
            (Algorithm{hash_of("256x192 2x1"), 2, 4}));
  EXPECT_EQ(to_algorithm(chosen.choices, {.way = 0}), (Algorithm{hash_of("128x256 2x1"), 1, 1}));
  EXPECT_EQ(chosen.key.m, 768);
  EXPECT_EQ(chosen.key.n, 8);
  EXPECT_EQ(chosen.key.k, 3072);
  EXPECT_EQ(chosen.key.epilogue, 17);
  EXPECT_EQ(chosen.key.result_type,
            static_cast<std::int64_t>(hash_of("128x256 2x1\n256x192 2x1\n") >> 1));
}

TEST(SparseCache, TellsApartWhatTakesAnotherTime) {
  const Chosen chosen;
  int there = 0, other = 0;
  SparseProduct product = chosen.product;
  product.d = &there;
  const auto key = [&] { return sparse_key(SparseEpilogue::kGelu, product, chosen.choices); };
  EXPECT_EQ(key(), chosen.key);
  product.addend = &there;
  EXPECT_EQ(key(), chosen.key) << "its own result";
  product.addend = &other;
  EXPECT_NE(key(), chosen.key);
  product.addend = nullptr;
  product.bias = &other;
  EXPECT_NE(key(), chosen.key);
  EXPECT_NE(Chosen(80).key, chosen.key) << "other ways";
}

TEST(SparseCache, ReadsWhatItWrites) {
  const Chosen chosen;
  for (const SparseChoice& choice : chosen.choices.all())
    EXPECT_EQ(from_algorithm(chosen.choices, to_algorithm(chosen.choices, choice)), choice);
}

TEST(SparseCache, RefusesWaysAndOrdersThatAreNotHere) {
  const Chosen chosen;
  EXPECT_FALSE(from_algorithm(chosen.choices, {hash_of("64x64"), 1, 1}));
  EXPECT_FALSE(from_algorithm(chosen.choices, {hash_of("mma.sp"), 1, 1})) << "of another GPU";
  EXPECT_FALSE(from_algorithm(chosen.choices, {hash_of("128x256 2x1"), 1, 3}));
  EXPECT_FALSE(from_algorithm(chosen.choices, kInTwoSteps));
}

TEST(SparseCache, SettlesWhatIsKnown) {
  const Chosen chosen;
  const Algorithm wide = to_algorithm(chosen.choices, {.way = 1});
  ProductPlan plan(some_machine(), {});
  EXPECT_FALSE(settle_known(chosen.choices, chosen.key, true, plan));
  plan.keep_searched(chosen.key, wide);
  EXPECT_TRUE(settle_known(chosen.choices, chosen.key, false, plan));
  EXPECT_EQ(*plan.chosen(chosen.key), wide);
  EXPECT_NE(plan.choices(), "") << "goes with the run";
}

TEST(SparseCache, ForgetsWhatDoesNotWorkHere) {
  const Chosen chosen;
  for (const bool has_two_steps : {false, true}) {
    ProductPlan plan(some_machine(), {});
    plan.keep_searched(chosen.key, kInTwoSteps);
    EXPECT_EQ(settle_known(chosen.choices, chosen.key, has_two_steps, plan), has_two_steps);
    ProductPlan other(some_machine(), {});
    other.keep_searched(chosen.key, algorithm(3));
    EXPECT_FALSE(settle_known(chosen.choices, chosen.key, has_two_steps, other));
    EXPECT_EQ(other.known(chosen.key), nullptr);
  }
}

}  // namespace
}  // namespace twill::cuda
