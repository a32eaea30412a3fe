// SPDX-License-Identifier: Apache-2.0
#include "sparsity/activations/token_order.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/expect_error.h"

namespace twill {
namespace {

using Order = std::vector<std::int32_t>;

TEST(TokenOrder, IsAPermutationSortedByPhilox) {
  for (const std::int64_t count : {0, 1, 2, 1000}) {
    Order order = random_token_order(count, 42, 3);
    for (std::size_t p = 1; p < order.size(); ++p)
      EXPECT_LE(random_bits(42, Purpose::kOrder, 3, order[p - 1])[0],
                random_bits(42, Purpose::kOrder, 3, order[p])[0]);
    std::sort(order.begin(), order.end());
    Order all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
}

TEST(TokenOrder, SeedAndStreamChoose) {
  const Order base = random_token_order(100, 1);
  EXPECT_EQ(base, random_token_order(100, 1));
  EXPECT_NE(base, random_token_order(100, 2));
  EXPECT_NE(base, random_token_order(100, 1, 1));
}

TEST(TokenOrder, LeavesFewNeighboursTogether) {
  const Order order = random_token_order(10'000, 7);
  int neighbours = 0;  // 2 of 10000 by chance
  for (std::size_t p = 1; p < order.size(); ++p)
    neighbours += std::abs(order[p] - order[p - 1]) == 1;
  EXPECT_LT(neighbours, 12);
}

TEST(TokenOrder, InverseUndoes) {
  const Order order = random_token_order(50, 9), inverse = inverse_order(order);
  for (std::size_t p = 0; p < 50; ++p)
    EXPECT_EQ(inverse[static_cast<std::size_t>(order[p])], static_cast<std::int32_t>(p));
}

TEST(TokenOrder, RefusesABadNumber) {
  expect_error([] { random_token_order(-1, 0); },
               "[random_token_order] num_tokens must be in [0, 2^31), got -1");
}

}  // namespace
}  // namespace twill
