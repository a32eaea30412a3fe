// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_choice.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "backends/sparse_product_ways.h"

namespace twill::cuda {
namespace {

std::vector<std::size_t> possible(std::int64_t n, int generation) {
  const std::vector<SparseWay> ways = some_ways();
  const SparseChoices choices(ways, product_of_width(n), gpu_of(generation));
  return {choices.possible().begin(), choices.possible().end()};
}

TEST(SparseChoices, AreOfTheLatestGenerationThatComputesIt) {
  EXPECT_EQ(possible(8, 90), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(possible(7, 90), (std::vector<std::size_t>{1})) << "the first refuses it";
  EXPECT_EQ(possible(8, 80), (std::vector<std::size_t>{2}));
  EXPECT_EQ(possible(8, 100), (std::vector<std::size_t>{2})) << "Hopper's run on nothing later";
  EXPECT_TRUE(possible(8, 70).empty());
}

TEST(SparseChoices, HaveEveryOrderOnce) {
  const std::vector<SparseWay> ways = some_ways();
  const SparseChoices choices(ways, product_of_width(8), gpu_of(90));
  const std::vector<SparseChoice> all = choices.all();
  EXPECT_EQ(all.size(), 2u * 2u * 4u);
  for (const SparseChoice& choice : all) EXPECT_EQ(std::ranges::count(all, choice), 1);
  EXPECT_EQ(choices.first(), (SparseChoice{.way = 0, .order = {.along_n = false, .swizzle = 1}}));
  EXPECT_EQ(all.front(), choices.first()) << "what warms the device up is what would run unheard";
}

}  // namespace
}  // namespace twill::cuda
