// SPDX-License-Identifier: Apache-2.0
// fst.md, section 7 B: MVUE.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "papers/broken.h"
#include "papers/soft_support.h"

namespace twill {
namespace {

constexpr MvueLaw kLaws[] = {MvueLaw::kExact, MvueLaw::kTwoDraw};

struct Analytic {
  Group group;
  std::array<double, 4> inclusion, values;
  double variance;
  std::array<double, 4> two_draw_inclusion;
  double two_draw_variance;
};
const Analytic kAnalytic[] = {
    {{1, 2, 3, 4}, {.2, .4, .6, .8}, {5, 5, 5, 5}, 20, {.2345, .4413, .6083, .7159}, 20.474},
    {{1, 1, 1, 9},
     {1 / 3., 1 / 3., 1 / 3., 1},
     {3, 3, 3, 9},
     6,
     {.3485, .3485, .3485, .9545},
     9.466},
    {{1, 1, 2, 3.5},
     {.2667, .2667, .5333, .9333},
     {3.75, 3.75, 3.75, 3.75},
     9.875,
     {.3190, .3190, .5821, .7800},
     10.598},
    {{.5f, 1, 1.2f, 2.3f},
     {.2, .4, .48, .92},
     {2.5, 2.5, 2.5, 2.5},
     4.52,
     {.2418, .4558, .5311, .7714},
     4.817},
    {{.3f, -1.2f, .7f, 2},
     {.1429, .5714, .3333, .9524},
     {2.1, -2.1, 2.1, 2.1},
     2.8,
     {.1792, .6246, .3977, .7985},
     3.029},
    {{3, 1, 1, 1}, {1, 1 / 3., 1 / 3., 1 / 3.}, {3, 3, 3, 3}, 6, {.8, .4, .4, .4}, 6.75},
};

// What many draws show of a group: how often each position is kept, and with what value.
struct Shown {
  std::array<double, 4> frequency{}, value{};
  double variance = 0.0;  // Σ x²/p - x² with p = x / value

  Shown(const Draws& draws, const Group& group) {
    for (std::int64_t k = 0; k < 4; ++k) {
      const auto at = static_cast<std::size_t>(k);
      for (std::int64_t draw = 0; draw < draws.count; ++draw) {
        if (!draws.kept(draw, k)) continue;
        frequency[at] += 1.0 / static_cast<double>(draws.count);
        value[at] = draws.value(draw, k);
      }
      const double x = group[at];
      variance += x * (value[at] - x);
    }
  }
};

TEST(Fst_B1, AnalyticVectors) {
  constexpr std::int64_t kDraws = 40'000;  // 4.5 standard errors are at most 0.012
  for (const KernelTable* table : paper_tables())
    for (const Analytic& want : kAnalytic) {
      const Shown exact(draws_of(*table, want.group, kDraws), want.group);
      const Shown two(draws_of(*table, want.group, kDraws, {.law = MvueLaw::kTwoDraw}), want.group);
      EXPECT_NEAR(exact.variance, want.variance, 1e-4);
      EXPECT_NEAR(two.variance, want.two_draw_variance, 6e-4);
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_NEAR(exact.value[k], want.values[k], 1e-6 * std::abs(want.values[k]));
        EXPECT_NEAR(want.group[k] / exact.value[k], want.inclusion[k], 5e-5);
        EXPECT_NEAR(exact.frequency[k], want.inclusion[k], 0.012);
        EXPECT_NEAR(want.group[k] / two.value[k], want.two_draw_inclusion[k], 6e-5);
        EXPECT_NEAR(two.frequency[k], want.two_draw_inclusion[k], 0.012);
      }
    }
}

struct Pairs {
  double p12, p13, p14, p23, p24, p34;

  std::array<double, 4> inclusion() const {
    return {p12 + p13 + p14, p12 + p23 + p24, p13 + p23 + p34, p14 + p24 + p34};
  }
};

// Section 2.4: one legal law over pairs of ascending magnitudes. Not the one that is drawn here, but
// every law of least variance has its inclusions.
Pairs pair_law(double a1, double a2, double a3, double a4) {
  const double S = a1 + a2 + a3 + a4, R = a1 + a2 + a3;
  if (2 * a1 + a3 >= a4)
    return {0,
            (2 * a1 + a3 - a4) / (2 * S),
            (2 * a1 - a3 + a4) / (2 * S),
            (2 * a2 + a3 - a4) / (2 * S),
            (2 * a2 - a3 + a4) / (2 * S),
            (a3 + a4 - a1 - a2) / S};
  if (R >= a4)
    return {0, 0, 2 * a1 / S, (R - a4) / S, (a2 + a4 - a1 - a3) / S, (a3 + a4 - a1 - a2) / S};
  return {0, 0, a1 / R, 0, a2 / R, a3 / R};
}

void expect_pairs(const Pairs& got, const Pairs& want, double tolerance) {
  EXPECT_NEAR(got.p12, want.p12, tolerance);
  EXPECT_NEAR(got.p13, want.p13, tolerance);
  EXPECT_NEAR(got.p14, want.p14, tolerance);
  EXPECT_NEAR(got.p23, want.p23, tolerance);
  EXPECT_NEAR(got.p24, want.p24, tolerance);
  EXPECT_NEAR(got.p34, want.p34, tolerance);
}

TEST(Fst_B1, PairLaw) {
  expect_pairs(pair_law(1, 2, 3, 4), {0, .05, .15, .15, .25, .40}, 1e-12);
  expect_pairs(pair_law(.5, 1, 1.2, 2.3), {0, 0, .2, .08, .32, .40}, 1e-12);
  expect_pairs(pair_law(1, 1, 1, 9), {0, 0, 1 / 3., 0, 1 / 3., 1 / 3.}, 1e-12);
  for (const KernelTable* table : paper_tables())
    for (const Group& group : {Group{1, 2, 3, 4}, Group{.5f, 1, 1.2f, 2.3f}, Group{1, 1, 1, 9}}) {
      const Shown shown(draws_of(*table, group, 4000), group);
      const auto want = pair_law(group[0], group[1], group[2], group[3]).inclusion();
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(group[k] / shown.value[k], want[k], 1e-6) << table->name;
    }
}

// The systematic draw has its own pairs.
TEST(Fst_B1, PairsOfTheSystematicDraw) {
  for (const KernelTable* table : paper_tables()) {
    const Draws draws = draws_of(*table, {1, 2, 3, 4}, 40'000);
    const auto share = [&](std::int64_t i, std::int64_t j) {
      int both = 0;
      for (std::int64_t draw = 0; draw < draws.count; ++draw)
        both += draws.kept(draw, i) && draws.kept(draw, j);
      return both / 40'000.0;
    };
    EXPECT_EQ(share(0, 1), 0.0);
    EXPECT_NEAR(share(0, 2), .2, 0.012);
    EXPECT_EQ(share(0, 3), 0.0);
    EXPECT_EQ(share(1, 2), 0.0);
    EXPECT_NEAR(share(1, 3), .4, 0.012);
    EXPECT_NEAR(share(2, 3), .4, 0.012);
  }
}

struct Literal {
  Group group;
  float u;
  Group want;
};
const Literal kLiterals[] = {
    {{1, 2, 3, 4}, .1f, {5, 0, 5, 0}},
    {{1, 2, 3, 4}, .3f, {0, 5, 0, 5}},
    {{1, 2, 3, 4}, .7f, {0, 0, 5, 5}},
    {{1, 1, 1, 9}, .5f, {0, 3, 0, 9}},
    {{.3f, -1.2f, .7f, 2}, .05f, {2.1f, 0, 0, 2.1f}},
    {{.3f, -1.2f, .7f, 2}, .3f, {0, -2.1f, 0, 2.1f}},
    {{.3f, -1.2f, .7f, 2}, .9f, {0, 0, 2.1f, 2.1f}},
    {{-6, 1, 2, 0}, .2f, {-6, 3, 0, 0}},
    {{-6, 1, 2, 0}, .5f, {-6, 0, 3, 0}},
    {{5, 0, 0, 0}, .5f, {5, 0, 0, 0}},
    {{0, 0, 0, 0}, .5f, {0, 0, 0, 0}},
};

MvuePair<float> law_of(const Group& group, float u) {
  const float a[4] = {group[0], group[1], group[2], group[3]};
  return mvue24_exact(a, u);
}

TEST(Fst_B2, LiteralDraws) {
  for (const Literal& literal : kLiterals) {
    const MvuePair<float> pair = law_of(literal.group, literal.u);
    for (int k = 0; k < 4; ++k) {
      const float want = literal.want[static_cast<std::size_t>(k)];
      EXPECT_NEAR(pair.value_at(k), want, 1e-6f * std::abs(want)) << literal.u;
    }
    EXPECT_NE(pair.first, pair.second);
  }
  const MvuePair<float> single = law_of({5, 0, 0, 0}, .5f), none = law_of({0, 0, 0, 0}, .5f);
  EXPECT_TRUE(single.keeps(0) && single.keeps(1));
  EXPECT_TRUE(none.keeps(2) && none.keeps(3));  // our contract; the note's sampler says 0 and 1
}

// The kernels draw by that law, with the word of philox that belongs to the group: each literal
// group in every place of a block, among others.
TEST(Fst_B2, KernelsDrawByTheLaw) {
  constexpr std::int64_t kTokens = 48, kChannels = 11;
  const Draw draw{.seed = 0x1234'5678'9abcu, .step = 5, .stream = 9};
  for (const KernelTable* table : paper_tables()) {
    Floats x;
    for (std::int64_t i = 0; i < kTokens * kChannels; ++i)
      x.push_back(kLiterals[i % kChannels].group[static_cast<std::size_t>(i / kChannels % 4)]);
    const Sampled out = mvue_of(*table, x, {kTokens, kChannels}, draw);
    for (std::uint32_t g = 0; g < kTokens / 4; ++g)
      for (std::uint32_t c = 0; c < kChannels; ++c) {
        const std::uint32_t word =
            philox4x32({g / 4, c, 5, 7u | 9u << 8}, 0x5678'9abcu, 0x1234u)[g % 4];
        const auto pair = law_of(kLiterals[c].group, static_cast<float>(word >> 9) * 0x1p-23f);
        for (std::uint32_t k = 0; k < 4; ++k) {
          const std::size_t at = (4 * g + k) * kChannels + c;
          EXPECT_EQ(out.y[at], pair.value_at(static_cast<int>(k))) << g << ' ' << c;
          EXPECT_EQ(out.mask[at] != 0, pair.keeps(static_cast<int>(k))) << g << ' ' << c;
        }
      }
  }
}

// Signs and order of the input go through to inclusion and values.
TEST(Fst_B3, FlipsAndPermutations) {
  const KernelTable& table = fast_paper_table();
  const Analytic& want = kAnalytic[4];
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  int flips = 0;
  do {
    flips = (flips + 5) % 16;
    Group group;
    for (std::size_t k = 0; k < 4; ++k)
      group[k] = (flips >> k & 1 ? -1.0f : 1.0f) * want.group[order[k]];
    const Shown shown(draws_of(table, group, 8000), group);
    for (std::size_t k = 0; k < 4; ++k) {
      const double sign = flips >> k & 1 ? -1.0 : 1.0;
      EXPECT_NEAR(shown.value[k], sign * want.values[order[k]], 1e-6 * 2.1);
      EXPECT_NEAR(shown.frequency[k], want.inclusion[order[k]], 0.025);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Fst_B3, MeanIsTheGradient) {
  const KernelTable& table = fast_paper_table();
  const Group random{.31f, -1.7f, .52f, .9f}, dominated{.01f, 7, -.2f, .05f}, padded{0, 1, 0, -3};
  const Group two{2, 0, 0, 1}, equal{1, 1, -1, 1};
  for (const MvueLaw law : kLaws)
    for (const Group& group : {random, dominated, padded, two, equal}) {
      const Draws draws = draws_of(table, group, 100'000, {.law = law});
      EXPECT_LE(worst_mean_error(draws, group), 4.0) << group[0];
      EXPECT_LE(most_nonzeros(draws), 2);
    }
}

// Always two positions, no NaN, whatever is zero, tiny or huge.
TEST(Fst_B3, AwkwardGroups) {
  for (const KernelTable* table : paper_tables())
    for (const MvueLaw law : kLaws)
      for (const float x : {1e-7f, 1.0f, 2.0f, 1e3f, 6e4f, 0.0f, 0x1p-149f, 0x1p-130f, 65504.0f})
        for (std::size_t place = 0; place < 4; ++place) {
          Group group{};
          group[place] = x;
          const Draws draws = draws_of(*table, group, 64, {.law = law});
          for (std::int64_t draw = 0; draw < draws.count; ++draw) {
            int kept = 0;
            for (std::int64_t k = 0; k < 4; ++k) {
              kept += draws.kept(draw, k);
              EXPECT_EQ(draws.value(draw, k), group[static_cast<std::size_t>(k)]) << x;
            }
            EXPECT_EQ(kept, 2) << x;
          }
        }
}

TEST(Fst_B4, VarianceOverEnergy) {
  const KernelTable& table = fast_paper_table();
  const Floats gaussian = numbers_of(Law::kGaussian, 4'000'000);
  EXPECT_NEAR(variance_over_energy(table, gaussian, MvueLaw::kExact), 0.474, 0.003);
  EXPECT_NEAR(variance_over_energy(table, gaussian, MvueLaw::kTwoDraw), 0.503, 0.003);
  const Floats laplace = numbers_of(Law::kLaplace, 4'000'000);
  EXPECT_NEAR(variance_over_energy(table, laplace, MvueLaw::kExact), 0.3125, 0.003);
  const Floats uniform = numbers_of(Law::kUniform, 4'000'000);
  EXPECT_NEAR(variance_over_energy(table, uniform, MvueLaw::kExact), 0.629, 0.003);
}

// The variance of a group follows from its kept values. A position that no draw has shown makes a
// group useless; few are.
TEST(Fst_B5, ExactIsNeverWorse) {
  const KernelTable& table = fast_paper_table();
  const Floats numbers = numbers_of(Law::kLaplace, 800);
  int judged = 0;
  for (std::size_t g = 0; g < 200; ++g) {
    const Group group{numbers[4 * g], numbers[4 * g + 1], numbers[4 * g + 2], numbers[4 * g + 3]};
    const Shown exact(draws_of(table, group, 2000), group);
    const Shown two(draws_of(table, group, 2000, {.law = MvueLaw::kTwoDraw}), group);
    if (std::ranges::count(exact.value, 0.0) + std::ranges::count(two.value, 0.0) > 0) continue;
    ++judged;
    EXPECT_LE(exact.variance, two.variance * (1 + 1e-5));
    EXPECT_LE(two.variance, 2.0 * exact.variance * (1 + 1e-5));
  }
  EXPECT_GE(judged, 150);
}

// What a law makes of a group over a grid of its uniform numbers. A position's value is the same in
// every draw that keeps it, so v and the probability integrate to mean and variance.
class Integrated {
 public:
  void add(const MvuePair<double>& pair) {
    ++count_;
    for (int k = 0; k < 4; ++k)
      if (pair.keeps(k)) {
        const auto at = static_cast<std::size_t>(k);
        ++kept_[at];
        EXPECT_TRUE(value_[at] == 0.0 || value_[at] == pair.value_at(k));
        value_[at] = pair.value_at(k);
      }
  }
  double variance(const double (&a)[4]) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(value_[k] * kept_[k] / count_, a[k], 0.01) << "the mean is the entry";
      sum += a[k] * (value_[k] - a[k]);
    }
    return sum;
  }

 private:
  double count_ = 0.0;
  std::array<double, 4> kept_{}, value_{};
};

TEST(Fst_B5, RatioOfADominatedGroup) {
  constexpr int kGrid = 2000, kSecond = 60;
  constexpr double kSeries[][2] = {
      {.5, 1.025}, {.34, 1.116}, {.1, 1.611}, {.01, 1.952}, {.001, 1.995}};
  for (const auto& [d, ratio] : kSeries) {
    const double a[4] = {1, d, d, d};
    Integrated exact, two;
    for (int i = 0; i < kGrid; ++i) {
      const double u = (i + .5) / kGrid;
      exact.add(mvue24_exact(a, u));
      for (int j = 0; j < kSecond; ++j) two.add(mvue24_two_draw(a, u, (j + .5) / kSecond));
    }
    EXPECT_NEAR(two.variance(a) / exact.variance(a), ratio, 0.0005 + 1e-9) << d;
  }
}

// dW = mvue(dY)^T X: its mean over draws tends to the dense product like 1 / sqrt(n).
TEST(Fst_B6, MeanOfSampledProducts) {
  constexpr std::int64_t kTokens = 32, kOut = 48, kIn = 2;
  const KernelTable& table = fast_paper_table();
  const Floats dy = numbers_of(Law::kGaussian, kTokens * kOut);
  const Floats x = numbers_of(Law::kUniform, kTokens * kIn);
  const auto product = [&](const Floats& left) {
    std::vector<double> dw(kOut * kIn);
    for (std::size_t t = 0; t < kTokens; ++t)
      for (std::size_t o = 0; o < kOut; ++o)
        for (std::size_t i = 0; i < kIn; ++i)
          dw[o * kIn + i] += double{left[t * kOut + o]} * x[t * kIn + i];
    return dw;
  };
  const std::vector<double> dense = product(dy);
  std::vector<double> sum(dense.size()), squares(dense.size());
  const auto rms_error = [&](std::uint32_t n) {
    double error = 0.0;
    for (std::size_t e = 0; e < dense.size(); ++e)
      error += (sum[e] / n - dense[e]) * (sum[e] / n - dense[e]);
    return std::sqrt(error / static_cast<double>(dense.size()));
  };
  double early = 0.0;
  for (std::uint32_t n = 1; n <= 6400; ++n) {
    const Sampled sampled = mvue_of(table, dy, {kTokens, kOut}, {.step = n});
    for (std::size_t g = 0; g < kTokens / 4 * kOut; ++g) {
      int nonzeros = 0;
      for (std::size_t k = 0; k < 4; ++k)
        nonzeros += sampled.y[(g / kOut * 4 + k) * kOut + g % kOut] != 0.0f;
      ASSERT_LE(nonzeros, 2);
    }
    const std::vector<double> dw = product(sampled.y);
    for (std::size_t e = 0; e < dw.size(); ++e) sum[e] += dw[e], squares[e] += dw[e] * dw[e];
    if (n == 100) early = rms_error(n);
  }
  for (std::size_t e = 0; e < dense.size(); ++e) {
    const double mean = sum[e] / 6400, variance = squares[e] / 6400 - mean * mean;
    EXPECT_LE(std::abs(mean - dense[e]), 4.5 * std::sqrt(variance / 6400));
  }
  EXPECT_NEAR(early / rms_error(6400), std::sqrt(6400.0 / 100.0), 2.5);
}

}  // namespace
}  // namespace twill
