// SPDX-License-Identifier: Apache-2.0
// s-ste.md, sections 7.1 and 7.2: the soft threshold, its scale, and the vectors of MVUE.
#include <algorithm>

#include <gtest/gtest.h>

#include "papers/broken.h"
#include "papers/soft_support.h"

namespace twill {
namespace {

void expect_near(const Floats& got, const Floats& want, float tolerance = 1e-6f) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(Sste_L1, Table) {
  struct Row {
    Floats w, soft;
  };
  const Row rows[] = {
      {{.1f, -.5f, .3f, .9f}, {0, -.2f, 0, .6f}},  {{3, -1, 2, .5f}, {2, 0, 1, 0}},
      {{-.2f, .9f, -.9f, .1f}, {0, .7f, -.7f, 0}}, {{1, 1, 1, 1}, {0, 0, 0, 0}},
      {{.1f, .5f, -.5f, .9f}, {0, 0, 0, .4f}},     {{0, 0, 2, -1}, {0, 0, 2, -1}},
  };
  for (const KernelTable* table : paper_tables()) {
    for (const Row& row : rows) expect_near(soft_of(*table, row.w), row.soft);
    EXPECT_EQ(soft_of(*table, rows[5].w), rows[5].soft) << "2:4 already: not a bit changes";
    const auto sums = sums_of(*table, rows[0].w, {1, 4});
    EXPECT_NEAR(sums[0], .64, 1e-6);
    EXPECT_NEAR(sums[1], .40, 1e-6);
    // Ws of the layer's vector: scaled once.
    expect_near(soft_of(*table, rows[0].w, {1, 4}, sums[0] / sums[1]), {0, -.32f, 0, .96f});
  }
}

TEST(Sste_L2, RowsAsOneTensor) {
  const Floats w{3, -1, 2, .5f, -.2f, .9f, -.9f, .1f, 1, 1, 1, 1};
  for (const KernelTable* table : paper_tables()) {
    const auto sums = sums_of(*table, w, {1, 12});
    EXPECT_NEAR(sums[0], 9.26, 1e-6);
    EXPECT_NEAR(sums[1], 5.98, 1e-6);
    EXPECT_NEAR(sums[0] / sums[1], 1.548495, 1e-6);
    EXPECT_NEAR(sums[2] / sums[3], 2.863636, 1e-6);
    EXPECT_NEAR(residual_of(*table, w, {1, 12}), 0.280167, 1e-6);
  }
}

TEST(Sste_L5, MvueVectors) {
  const auto law = [](const Group& group, float u) {
    const float a[4] = {group[0], group[1], group[2], group[3]};
    const MvuePair<float> pair = mvue24_exact(a, u);
    return Floats{pair.value_at(0), pair.value_at(1), pair.value_at(2), pair.value_at(3)};
  };
  EXPECT_EQ(law({1, 2, 3, 4}, .1f), (Floats{5, 0, 5, 0}));
  EXPECT_EQ(law({1, 2, 3, 4}, .3f), (Floats{0, 5, 0, 5}));
  EXPECT_EQ(law({1, 2, 3, 4}, .7f), (Floats{0, 0, 5, 5}));
  const float single[4] = {5, 0, 0, 0};
  EXPECT_TRUE(mvue24_exact(single, .5f).keeps(0) && mvue24_exact(single, .5f).keeps(1));
  for (const KernelTable* table : paper_tables()) {
    const Draws ordinary = draws_of(*table, {1, 2, 3, 4}, 4000);
    const Draws dominated = draws_of(*table, {1, 1, 1, 9}, 4000);
    std::array<double, 4> frequency{};
    for (std::int64_t draw = 0; draw < 4000; ++draw) {
      float small = 0.0f;
      for (std::int64_t k = 0; k < 4; ++k) {
        frequency[static_cast<std::size_t>(k)] += ordinary.kept(draw, k) / 4000.0;
        EXPECT_EQ(ordinary.value(draw, k), ordinary.kept(draw, k) ? 5.0f : 0.0f);
        if (k < 3) small += dominated.value(draw, k);
      }
      EXPECT_EQ(dominated.value(draw, 3), 9.0f);
      EXPECT_EQ(small, 3.0f);
    }
    const double want[4] = {.2, .4, .6, .8};
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(frequency[k], want[k], 0.03);
  }
}

const Shape kSquare{64, 64};
Floats weights() { return numbers_of(Law::kGaussian, 64 * 64); }
Floats mapped(Floats values, float (*change)(float)) {
  std::ranges::transform(values, values.begin(), change);
  return values;
}

TEST(Sste_S1, OddHomogeneousIdempotent) {
  const Floats w = weights();
  for (const KernelTable* table : paper_tables()) {
    const Floats s = soft_of(*table, w, kSquare);
    const auto negate = [](float v) { return v == 0.0f ? 0.0f : -v; };
    const auto eightfold = [](float v) { return 8.0f * v; };
    EXPECT_EQ(soft_of(*table, mapped(w, negate), kSquare), mapped(s, negate));
    EXPECT_EQ(soft_of(*table, mapped(w, eightfold), kSquare), mapped(s, eightfold));
    EXPECT_EQ(soft_of(*table, s, kSquare), s);
    const Floats three = soft_of(*table, mapped(w, [](float v) { return 3.0f * v; }), kSquare);
    for (std::size_t i = 0; i < s.size(); ++i)
      EXPECT_NEAR(three[i], 3.0f * s[i], 2e-6f) << "S(c w) = c S(w) up to rounding";
  }
}

TEST(Sste_S1, PermutationsGoThrough) {
  for (const KernelTable* table : paper_tables()) {
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    const Floats w{.1f, -.5f, .3f, .9f}, s = soft_of(*table, w);
    do {
      Floats permuted;
      for (const std::size_t k : order) permuted.push_back(w[k]);
      const Floats got = soft_of(*table, permuted);
      for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(got[k], s[order[k]]);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

std::vector<double> soft_in_double(const std::vector<double>& x) {
  std::vector<double> y(x.size());
  const Shape shape{1, static_cast<std::int64_t>(x.size())};
  soft_threshold24(Context(*paper_tables().front(), 1),
                   {.x = view_of(x.data(), shape), .y = view_of(y.data(), shape)});
  return y;
}

TEST(Sste_S1, AtMostTwoNonzerosAndLipschitz) {
  const Floats numbers = numbers_of(Law::kGaussian, 400'000);
  const Floats moves = numbers_of(Law::kUniform, 400'000);
  const std::vector<double> w(numbers.begin(), numbers.end());
  std::vector<double> moved = w;
  for (std::size_t i = 0; i < w.size(); ++i)  // small and large moves, group by group
    moved[i] += moves[i] * (i / 4 % 2 == 0 ? 1e-2 : 2.0);
  const std::vector<double> s = soft_in_double(w), t = soft_in_double(moved);
  double worst = 0.0;
  for (std::size_t g = 0; g < w.size(); g += 4) {
    double before = 0.0, after = 0.0;
    int nonzeros = 0;
    for (std::size_t i = g; i < g + 4; ++i) {
      before += (w[i] - moved[i]) * (w[i] - moved[i]);
      after += (s[i] - t[i]) * (s[i] - t[i]);
      nonzeros += s[i] != 0.0;
    }
    EXPECT_LE(nonzeros, 2);
    worst = std::max(worst, std::sqrt(after / before));
  }
  EXPECT_LE(worst, std::sqrt(3.0) + 1e-6);
  EXPECT_GE(worst, 1.5);  // the bound is nearly met
}

// Across |a_i| = |a_j| the output moves as little as the input.
TEST(Sste_S1, Continuity) {
  for (const KernelTable* table : paper_tables())
    for (const float eps : {1e-2f, 1e-4f, 1e-6f})
      for (const Floats& w :
           {Floats{.1f, .5f, -.5f, .9f}, Floats{.5f, .5f, -.7f, .9f}, Floats{1, 1, 1, 1}}) {
        Floats above = w, below = w;
        above[1] += eps;
        below[1] -= eps;
        const Floats a = soft_of(*table, above), b = soft_of(*table, below);
        for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(a[k], b[k], 4.0f * eps + 1e-6f);
      }
}

// (r, q) with r != q: four neighbours of a row, and by the other axis four of a column.
TEST(Sste_S1, GroupsRunAlongTheInput) {
  const std::size_t R = 8, Q = 12;
  const Floats w = numbers_of(Law::kGaussian, static_cast<std::int64_t>(R * Q));
  for (const KernelTable* table : paper_tables()) {
    const Floats rows = soft_of(*table, w, {8, 12});
    for (std::size_t g = 0; g < R * Q; g += 4) {
      const Floats alone = soft_of(*table, {w[g], w[g + 1], w[g + 2], w[g + 3]});
      for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(rows[g + k], alone[k]);
    }
    const Floats columns = soft_of(*table, w, {8, 12}, 1.0, GroupAxis::kWithinColumn);
    for (std::size_t r = 0; r < R; r += 4)
      for (std::size_t c = 0; c < Q; ++c) {
        const std::size_t at = r * Q + c;
        const Floats alone = soft_of(*table, {w[at], w[at + Q], w[at + 2 * Q], w[at + 3 * Q]});
        for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(columns[at + k * Q], alone[k]);
      }
  }
}

constexpr std::int64_t kMany = 4'000'000;
const Shape kManyShape{1000, 4000};

struct Constants {
  Law law;
  double beta, keep_l1, residual;
};
const Constants kConstants[] = {{Law::kUniform, 1.750, 10.0 / 3.0, 0.3875},
                                {Law::kGaussian, 1.484, 2.5143, 0.258},
                                {Law::kLaplace, 1.292, 2.0, 0.1658}};

// S2 and S3 look at the same four million weights of each law.
const Floats& many(Law law) {
  static const std::array<Floats, 3> all{numbers_of(Law::kUniform, kMany),
                                         numbers_of(Law::kGaussian, kMany),
                                         numbers_of(Law::kLaplace, kMany)};
  return all[static_cast<std::size_t>(law)];
}

TEST(Sste_S2, BetaOfThreeLaws) {
  for (const Constants& want : kConstants) {
    const auto sums = sums_of(fast_paper_table(), many(want.law), kManyShape);
    EXPECT_NEAR(sums[0] / sums[1], want.beta, 0.003);
    EXPECT_NEAR(sums[2] / sums[3], want.keep_l1, 0.01);
  }
}

TEST(Sste_S2, BetaKnowsNoUnit) {
  const Floats w = weights();
  for (const KernelTable* table : paper_tables()) {
    const auto beta = [&](const Floats& values) {
      const auto sums = sums_of(*table, values, kSquare);
      return sums[0] / sums[1];
    };
    EXPECT_EQ(beta(mapped(w, [](float v) { return 16.0f * v; })), beta(w));
    EXPECT_NEAR(beta(mapped(w, [](float v) { return 0.3f * v; })), beta(w), 1e-6);
  }
}

// Runs of 256 in index order, then the runs: to the last bit.
TEST(Sste_S2, SumsHaveTheirOrder) {
  const Floats w = numbers_of(Law::kGaussian, 20 * 52);
  for (const KernelTable* table : paper_tables())
    for (const GroupAxis axis : {GroupAxis::kWithinRow, GroupAxis::kWithinColumn}) {
      const Floats s = soft_of(*table, w, {20, 52}, 1.0, axis);
      std::array<double, 4> want{};
      for (std::size_t begin = 0; begin < w.size(); begin += 256) {
        std::array<double, 4> run{};
        for (std::size_t i = begin; i < std::min(begin + 256, w.size()); ++i) {
          run[0] += double{w[i]} * double{s[i]};
          run[1] += double{s[i]} * double{s[i]};
          run[2] += std::abs(double{w[i]});
          run[3] += std::abs(double{s[i]});
        }
        for (std::size_t k = 0; k < 4; ++k) want[k] += run[k];
      }
      EXPECT_EQ(sums_of(*table, w, {20, 52}, axis), want);
    }
}

TEST(Sste_S3, ResidualOfThreeLaws) {
  for (const Constants& want : kConstants)
    EXPECT_NEAR(residual_of(fast_paper_table(), many(want.law), kManyShape), want.residual, 0.002);
}

}  // namespace
}  // namespace twill
