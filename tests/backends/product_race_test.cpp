// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/products/product_race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "support/seeds.h"

namespace twill::cuda {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Candidates whose rounds take what is written down; the last number stands for all further rounds.
struct Candidates {
  std::vector<std::vector<double>> seconds;
  std::vector<std::size_t> rounds = std::vector<std::size_t>(seconds.size(), 0);

  std::optional<std::size_t> winner(double clearly_better = 0.99) {
    Race race(
        [&](std::size_t i) { return seconds[i][std::min(rounds[i]++, seconds[i].size() - 1)]; });
    for (std::size_t i = 0; i < seconds.size(); ++i) race.enter();
    return race.finish(clearly_better);
  }
};

TEST(Race, TheQuickestWins) {
  Candidates candidates{{{3e-3}, {2e-3}, {1e-3}, {1.5e-3}}};
  EXPECT_EQ(candidates.winner(), 2u);
  // The winner and the first ran on; the hopeless had their one round.
  EXPECT_EQ(candidates.rounds, (std::vector<std::size_t>{6, 1, 6, 1}));
}

TEST(Race, NoiseDoesNotDisplaceTheFirst) {
  Candidates close{{{1e-3}, {0.995e-3}}};
  EXPECT_EQ(close.winner(0.99), 0u);
  EXPECT_EQ(close.winner(0.999), 1u);
}

TEST(Race, TheFirstGetsAnotherChance) {  // its first round ran on low clocks
  EXPECT_EQ((Candidates{{{2e-3, 1e-3}, {1.2e-3}}}.winner()), 0u);
}

TEST(Race, OneLuckyRoundDoesNotDecide) {
  EXPECT_EQ((Candidates{{{9e-3}, {1.02e-3, 1e-3, 0.9e-3}, {1e-3}}}.winner()), 1u);
}

TEST(Race, WhoFailsIsOut) {
  EXPECT_EQ((Candidates{{{3e-3}, {kNever}, {2e-3}}}.winner()), 2u);
  EXPECT_EQ((Candidates{{{kNever}, {2e-3}}}.winner()), 1u);  // the library's own choice may, too
  EXPECT_EQ((Candidates{{{kNever}, {kNever}}}.winner()), std::nullopt);
  EXPECT_EQ((Candidates{{}}.winner()), std::nullopt);
}

// A launch may fail after others went well: it is as if none had.
TEST(Race, WhoFailsLateIsOutAndIsNotAskedAgain) {
  Candidates candidates{{{3e-3}, {1e-3, 1e-3, kNever, 1e-3}, {1.05e-3}}};
  EXPECT_EQ(candidates.winner(), 2u);
  EXPECT_EQ(candidates.rounds[1], 3u);
}

TEST(Race, FinalsAreSmallAndShort) {
  Candidates many;
  for (int i = 0; i < 50; ++i) many.seconds.push_back({1e-3});
  many.rounds.assign(50, 0);
  EXPECT_EQ(many.winner(), 0u);
  std::size_t rounds = 0;
  for (const std::size_t count : many.rounds) rounds += count;
  EXPECT_EQ(rounds, 50u + 5 * 5);
  Candidates slow{{{0.1}, {0.05}}};  // two rounds of each are 0.3 s already
  EXPECT_EQ(slow.winner(), 1u);
  EXPECT_EQ(slow.rounds, (std::vector<std::size_t>{3, 3}));
}

TEST(Race, LeadsBeforeItIsOver) {
  const std::vector<double> seconds{2e-3, 1e-3, 3e-3};
  Race race([&](std::size_t i) { return seconds[i]; });
  EXPECT_EQ(race.leader(), std::nullopt);
  race.enter();
  EXPECT_EQ(race.leader(), 0u);
  race.enter();
  race.enter();
  EXPECT_EQ(race.leader(), 1u);
}

TEST(ResultsOfAProduct, AgreeUpToRounding) {
  const std::vector<float> one{1.0f, -8.0f, 0.0f, kInf, -kInf, kNan};
  std::vector<float> other = one;
  // The largest is 8: two results in bf16 whose sums have 2^18 terms differ by 3/256 of it at most.
  other[0] = 1.0f + 8.0f * 3 / 256;
  EXPECT_TRUE(agree(one, other));
  other[0] = 1.0f + 8.0f / 32;
  EXPECT_TRUE(agree(one, other));
  other[0] = 1.0f + 8.0f * 9 / 256;
  EXPECT_FALSE(agree(one, other));
  EXPECT_TRUE(agree(std::vector<float>(4, 0.0f), std::vector<float>(4, 0.0f)));
}

TEST(ResultsOfAProduct, DisagreeWhereTheyAreNotTheSameInfinity) {
  for (const float one : {kInf, -kInf, kNan, 1.0f})
    for (const float other : {kInf, -kInf, kNan, 1.0f}) {
      const bool is_same = one == other || (std::isnan(one) && std::isnan(other));
      EXPECT_EQ(agree(std::vector{2.0f, one}, std::vector{2.0f, other}), is_same)
          << one << " and " << other;
    }
}

// A kernel that leaves out 8 of 4,096 terms: elements are sums of random signs, so what is missing
// is some sqrt(8 / 4096) = 4 % of an element.
TEST(ResultsOfAProduct, DisagreeWhereAnEndOfTheSumIsMissing) {
  Random random;
  std::vector<float> whole, part;
  for (int element = 0; element < 64; ++element) {
    const Values terms = random.normal(4096);
    float sum = 0.0f;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i == terms.size() - 8) part.push_back(sum);
      sum += static_cast<float>(terms[i]);
    }
    whole.push_back(sum);
  }
  EXPECT_TRUE(agree(whole, whole));
  EXPECT_FALSE(agree(whole, part));
}

TEST(ResultsOfAProduct, DisagreeWhereWorkIsMissing) {
  const std::vector<float> one{1.0f, -8.0f, 3.0f};
  EXPECT_FALSE(agree(one, std::vector{1.0f, -8.0f, 0.0f}));
  EXPECT_FALSE(agree(one, std::vector{1.0f, -8.0f, kInf}));
  EXPECT_FALSE(agree(one, std::vector{1.0f, -8.0f, kNan}));
  EXPECT_FALSE(agree(one, std::vector<float>()));
}

}  // namespace
}  // namespace twill::cuda
