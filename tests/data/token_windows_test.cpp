// SPDX-License-Identifier: Apache-2.0
#include "data/token_windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace twill {
namespace {

// tokens[i] == i, so that a window shows where it was cut.
using Token = std::uint16_t;

std::vector<Token> counting_tokens(std::size_t count) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), Token{0});
  return tokens;
}

std::vector<std::int64_t> permutation(std::uint64_t seed, std::uint32_t epoch, std::int64_t n) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) order.push_back(permuted_index(seed, epoch, n, i));
  return order;
}

void expect_bijection(std::uint64_t seed, std::uint32_t epoch, std::int64_t n) {
  std::vector<std::int64_t> order = permutation(seed, epoch, n);
  std::ranges::sort(order);
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i) << n;
}

TEST(PermutedIndex, IsABijectionForEveryLength) {
  for (std::int64_t n = 1; n <= 300; ++n) expect_bijection(7, 0, n);
  for (const std::int64_t n : {1023, 1024, 1025, 4097, 65'536, 100'003}) expect_bijection(1, 3, n);
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) expect_bijection(~0ull, epoch, 37);
}

TEST(PermutedIndex, DependsOnSeedAndEpoch) {
  EXPECT_NE(permutation(1, 0, 100), permutation(2, 0, 100));
  EXPECT_NE(permutation(1, 0, 100), permutation(1, 1, 100));
  EXPECT_NE(permutation(1, 0, 100), permutation(1ull << 32 | 1, 0, 100));
}

// How often index 0 of a short permutation lands where, over many epochs: all places alike, within
// five standard deviations of a binomial count.
TEST(PermutedIndex, FavoursNoPlace) {
  constexpr int kEpochs = 20'000;
  for (const std::int64_t n : {2, 3, 5, 16}) {
    std::vector<int> hits(static_cast<std::size_t>(n));
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch)
      ++hits[static_cast<std::size_t>(permuted_index(5, epoch, n, 0))];
    const double p = 1.0 / static_cast<double>(n);
    const double deviation = std::sqrt(kEpochs * p * (1 - p));
    for (const int count : hits) EXPECT_NEAR(count, kEpochs * p, 5 * deviation) << n;
  }
}

// The order is part of the format of a run: a checkpoint of an older build resumes into it.
TEST(PermutedIndex, IsFrozen) {
  EXPECT_EQ(permutation(1, 0, 8), (std::vector<std::int64_t>{7, 4, 1, 2, 0, 3, 6, 5}));
  EXPECT_EQ(permutation(1, 1, 8), (std::vector<std::int64_t>{1, 6, 4, 3, 7, 5, 0, 2}));
}

TEST(WindowStream, TargetsFollowInputs) {
  const std::vector<Token> tokens = counting_tokens(1000);
  const WindowStream stream(tokens, 10, 3);
  std::vector<std::int32_t> inputs(10);
  std::vector<std::int32_t> targets(10);
  for (std::int64_t position = 0; position < 300; ++position) {
    stream.window(position, inputs.data(), targets.data());
    for (std::size_t t = 0; t < 10; ++t) {
      ASSERT_EQ(inputs[t], inputs[0] + static_cast<std::int32_t>(t));
      ASSERT_EQ(targets[t], inputs[t] + 1);
    }
  }
}

TEST(WindowStream, AnEpochShowsEveryWindowOnce) {
  const std::vector<Token> tokens = counting_tokens(1000);
  const WindowStream stream(tokens, 10, 3);
  const std::int64_t windows = stream.windows_per_epoch();
  EXPECT_EQ(windows, 99);
  std::set<std::int64_t> offsets;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    std::set<std::int64_t> begins;
    for (std::int64_t i = 0; i < windows; ++i)
      begins.insert(stream.window_begin(epoch * windows + i));
    ASSERT_EQ(std::ssize(begins), windows);
    const std::int64_t offset = *begins.begin();
    ASSERT_LT(offset, 10);
    ASSERT_EQ(*begins.rbegin(), offset + (windows - 1) * 10);
    ASSERT_TRUE(epoch > 0 || offset == 0);
    offsets.insert(offset);
  }
  EXPECT_GT(offsets.size(), 5u);  // epochs are cut at different places
}

TEST(WindowStream, APositionIsAllThereIsToRemember) {
  const std::vector<Token> tokens = counting_tokens(5000);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const WindowStream stream(tokens, 16, 11);
    std::vector<std::int32_t> seen;
    for (std::int64_t position = begin; position < end; ++position) {
      seen.resize(seen.size() + 32);
      stream.window(position, seen.data() + seen.size() - 32, seen.data() + seen.size() - 16);
    }
    return seen;
  };
  const std::vector<std::int32_t> whole = run(0, 1000);
  for (const std::int64_t stop : {1, 311, 312, 999}) {
    std::vector<std::int32_t> joined = run(0, stop);
    const std::vector<std::int32_t> rest = run(stop, 1000);
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(joined, whole);
  }
}

TEST(WindowStream, StaysInsideForEverySmallCorpus) {
  for (std::size_t count = 2; count < 40; ++count) {
    const std::vector<Token> tokens = counting_tokens(count);
    for (std::int64_t T = 1; T < static_cast<std::int64_t>(count); ++T) {
      const WindowStream stream(tokens, T, 1);
      ASSERT_GE(stream.windows_per_epoch(), 1);
      for (std::int64_t position = 0; position < 5 * stream.windows_per_epoch(); ++position) {
        ASSERT_GE(stream.window_begin(position), 0);
        ASSERT_LT(stream.window_begin(position) + T, static_cast<std::int64_t>(count));
      }
    }
  }
}

TEST(WindowStream, RefusesTooFewTokens) {
  const std::vector<Token> tokens = counting_tokens(10);
  expect_error([&] { WindowStream(tokens, 10, 1); },
               "10 tokens are too few for one window of 10 and its last target");
}

TEST(EvalWindows, AreDisjointAndSpread) {
  const std::int64_t tokens = 101;
  EXPECT_EQ(eval_windows(tokens, 10, 100),
            (std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
  EXPECT_EQ(eval_windows(tokens, 10, 4), (std::vector<std::int64_t>{0, 20, 50, 70}));
  EXPECT_EQ(eval_windows(tokens, 10, 1), std::vector<std::int64_t>{0});
  EXPECT_EQ(eval_windows(tokens, 100, 5), std::vector<std::int64_t>{0});
  EXPECT_TRUE(eval_windows(tokens, 101, 5).empty());
  EXPECT_TRUE(eval_windows(0, 10, 5).empty());
}

}  // namespace
}  // namespace twill
