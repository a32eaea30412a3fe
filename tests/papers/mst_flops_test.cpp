// SPDX-License-Identifier: Apache-2.0
// MST: FLOP accounting (notes 2.7, 5, 8).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "sparsity/account/flop_account.h"
#include "support/expect_error.h"

namespace twill {
namespace {

struct Model {
  std::int64_t layers, width, vocab, time;

  std::int64_t blocks() const { return 12 * layers * width * width; }
  std::int64_t head() const { return vocab * width; }
  std::vector<LinearCost> linears(double density, double head_density) const {
    return {{.weights = blocks(), .forward = density, .dgrad = density, .wgrad = density},
            {.weights = head(),
             .forward = head_density,
             .dgrad = head_density,
             .wgrad = head_density,
             .head = true}};
  }
  Flops at(double density, double head_density, double kept) const {
    return flops_per_token(linears(density, head_density),
                           {.num_layers = layers, .width = width, .time = time, .kept = kept});
  }
};

constexpr Model kSmall{12, 768, 50304, 1024}, kMedium{24, 1024, 50304, 1024};
constexpr Model kLarge{36, 1280, 50304, 1024}, kMst25m{8, 512, 32768, 512};

constexpr double kThreeDecimals = 0.0005 + 1e-9;
// Four of the 43 ratios in the notes' section 5 are not what its definition gives, rounded. Why is
// not known. They are held to our own five digits, all others to half a unit of the printed ones.
constexpr double kFiveDecimals = 0.000005 + 1e-9;

void expect_shares(const Model& model, double blocks, double head, double attention,
                   double mflops) {
  const Flops dense = model.at(1.0, 1.0, 1.0);
  EXPECT_NEAR(6.0 * static_cast<double>(model.blocks()) / dense.dense, blocks, kThreeDecimals);
  EXPECT_NEAR(1.0 - dense.dense_without_head / dense.dense, head, kThreeDecimals);
  EXPECT_NEAR(1.0 - model.at(1.0, 1.0, 0.0).ratio(), attention, kThreeDecimals);
  EXPECT_NEAR(dense.dense * 1e-6, mflops, 0.05 + 1e-9);
  EXPECT_EQ(dense.spent, dense.dense);
  EXPECT_EQ(dense.spent_without_head, dense.dense_without_head);
}

TEST(Mst_M11, SharesOfTheModels) {
  expect_shares(kSmall, 0.596, 0.271, 0.133, 854.7);
  expect_shares(kMedium, 0.748, 0.128, 0.125, 2423.0);
  expect_shares(kLarge, 0.817, 0.074, 0.109, 5199.3);
  expect_shares(kMst25m, 0.545, 0.364, 0.091, 276.8);
}

TEST(Mst_M11, KeptPairsOfThePatterns) {
  EXPECT_NEAR(kept_pairs(AttentionPattern::kUnion, 128, 1024), 0.2411, 5e-5);
  EXPECT_NEAR(kept_pairs(AttentionPattern::kFixed, 64, 512), 0.1404, 5e-5);
  EXPECT_EQ(kept_pairs(AttentionPattern::kCausal, 0, 1024), 1.0);
}

// A constant 80 % on GPT-2 S: linear layers alone, with dense attention, with sparse attention.
TEST(Mst_M11, ConstantEightyPercent) {
  const double kept = kept_pairs(AttentionPattern::kUnion, 128, 1024);
  EXPECT_NEAR(flops_per_token(kSmall.linears(0.2, 0.2), {}).ratio(), 0.20, kThreeDecimals);
  EXPECT_NEAR(kSmall.at(0.2, 0.2, 1.0).ratio(), 0.306, kThreeDecimals);
  EXPECT_NEAR(kSmall.at(0.2, 0.2, kept).ratio(), 0.20545, kFiveDecimals);  // printed: 0.206
  // Without the head neither side counts it.
  const Flops flops = kSmall.at(0.2, 1.0, 1.0);
  const double attention = 12.0 * 12 * 768 * 1024, blocks = 6.0 * 12 * 12 * 768 * 768;
  EXPECT_NEAR(flops.ratio_without_head(), (0.2 * blocks + attention) / (blocks + attention), 1e-12);
  EXPECT_GT(flops.ratio(), 0.271);
}

struct ScheduleRow {
  double w, r, u, small, no_hsa, head_dense, medium, large;
};

constexpr ScheduleRow kSchedules[] = {
    {.10, .20, .10, .256, .336, .463, .255, .252}, {.05, .15, .10, .212, .297, .432, .211, .208},
    {.10, .10, .10, .207, .297, .426, .206, .204}, {.10, .20, .05, .219, .299, .438, .217, .214},
    {.10, .30, .05, .270, .341, .476, .268, .265}, {.10, .20, .01, .190, .270, .418, .188, .184},
    {.15, .25, .01, .237, .313, .452, .236, .232}, {.10, .20, .20, .330, .410, .514, .329, .328},
};

double schedule_ratio(const Model& model, const ScheduleRow& row, bool hsa, bool sparse_head) {
  const ThreePhases phases{.warm_up = row.w, .restore = row.r, .floor = row.u};
  const double sparse = hsa ? kept_pairs(AttentionPattern::kUnion, 128, 1024) : 1.0;
  return mean_flops([&](double t) {
           const double density = phases.density(t);
           return model.at(density, sparse_head ? density : 1.0, t < 1.0 - row.r ? sparse : 1.0);
         })
      .ratio();
}

// The other three: figure `column` of kSchedules[row].
constexpr struct {
  std::size_t row, column;
  double ours;
} kExceptions[] = {{2, 2, .42652}, {4, 3, .26851}, {6, 0, .23753}};

void expect_figure(std::size_t row, std::size_t column, double got, double printed) {
  SCOPED_TRACE(testing::Message() << "row " << row << ", column " << column);
  for (const auto& exception : kExceptions)
    if (exception.row == row && exception.column == column) {
      EXPECT_NEAR(got, exception.ours, kFiveDecimals);
      EXPECT_GT(std::abs(got - printed), kThreeDecimals) << "no exception";
      return;
    }
  EXPECT_NEAR(got, printed, kThreeDecimals);
}

TEST(Mst_M11, TableOfSchedules) {
  for (std::size_t k = 0; k < std::size(kSchedules); ++k) {
    const ScheduleRow& row = kSchedules[k];
    expect_figure(k, 0, schedule_ratio(kSmall, row, true, true), row.small);
    expect_figure(k, 1, schedule_ratio(kSmall, row, false, true), row.no_hsa);
    expect_figure(k, 2, schedule_ratio(kSmall, row, true, false), row.head_dense);
    expect_figure(k, 3, schedule_ratio(kMedium, row, true, true), row.medium);
    expect_figure(k, 4, schedule_ratio(kLarge, row, true, true), row.large);
  }
}

TEST(Mst_M11, RiglOverhead) {
  // Forward cost d of a dense 1; relative to the dense step's 3.
  const auto mean = [](double d, std::int64_t delta) {
    return rigl_step_cost(d, 1.0, delta) / 3.0;
  };
  EXPECT_NEAR(mean(0.10, 100), 0.1030, 5e-5);
  EXPECT_NEAR(mean(0.10, 300), 0.1010, 5e-5);
  EXPECT_NEAR(mean(0.05, 100), 0.0531, 5e-5);
  EXPECT_NEAR(mean(0.05, 300), 0.0511, 5e-5);
  EXPECT_NEAR(mean(0.20, 100), 0.2026, 5e-5);
  EXPECT_NEAR(mean(0.20, 300), 0.2009, 5e-5);
  expect_error([] { rigl_step_cost(0.1, 1.0, 0); },
               "the interval of updates must be 1 or more, got 0");
}

// The account over a cycle of steps is RigL's formula.
TEST(Mst_M11, AccountCountsUpdateSteps) {
  const std::vector<LinearCost> sparse{{.weights = 1000, .forward = .1, .dgrad = .1, .wgrad = .1}};
  const Flops step = flops_per_token(sparse, {});
  const Flops update = flops_per_token(with_dense_wgrad(sparse), {});
  FlopAccount account;
  for (int k = 0; k < 100; ++k) account.add(step, 64);
  account.add(update, 64);
  EXPECT_NEAR(account.total().spent, 101.0 * 64.0 * rigl_step_cost(200.0, 2000.0, 100), 1e-3);
  EXPECT_NEAR(account.total().ratio(), 0.1030, 5e-5);
  EXPECT_EQ(account.total().dense, 101.0 * 64.0 * 6000.0);
}

TEST(Mst_M11, AccountComesBackBitForBit) {
  const Flops step = kMst25m.at(0.1 / 3.0, 0.1, 0.24);
  FlopAccount whole;
  for (int k = 0; k < 7; ++k) whole.add(step, 1023);
  FlopAccount first;
  for (int k = 0; k < 3; ++k) first.add(step, 1023);
  FlopAccount second(first.total());
  for (int k = 3; k < 7; ++k) second.add(step, 1023);
  const auto bits = [](const FlopAccount& account) {
    return std::bit_cast<std::array<std::uint64_t, 4>>(account.total());
  };
  EXPECT_EQ(bits(whole), bits(second));
}

// The small configuration's staircase.
double mst25m_density(std::int64_t t) {
  if (t < 240) return 1.0 - 0.075 * static_cast<double>(t / 20);
  if (t < 1920) return 0.10;
  return std::min(1.0, 0.10 + 0.075 * static_cast<double>((t - 1920) / 40 + 1));
}

// Share of the products of a step: with RigL's mean overhead at `delta`, or without (0).
Flops mst25m_run(bool hsa, bool sparse_head, std::int64_t delta) {
  const double sparse = hsa ? kept_pairs(AttentionPattern::kUnion, 64, 512) : 1.0;
  FlopAccount account;
  for (std::int64_t t = 0; t < 2400; ++t) {
    double share = mst25m_density(t);
    if (delta > 0) share = rigl_step_cost(share, 1.0, delta) / 3.0;
    account.add(kMst25m.at(share, sparse_head ? share : 1.0, t < 1920 ? sparse : 1.0), 131072);
  }
  return account.total();
}

TEST(Mst_M11, Mst25mConfiguration) {
  EXPECT_NEAR(static_cast<double>(kMst25m.blocks()) * 1e-6, 25.2, 0.05);
  EXPECT_NEAR(static_cast<double>(kMst25m.head()) * 1e-6, 16.8, 0.05);
  double mean = 0.0;
  for (std::int64_t t = 0; t < 2400; ++t) mean += mst25m_density(t) / 2400.0;
  EXPECT_NEAR(mean, 0.24625, 1e-9);
  EXPECT_NEAR(mst25m_density(1920), 0.175, 1e-12);
  EXPECT_NEAR(mst25m_density(2360), 1.0, 1e-12);
  EXPECT_NEAR(mst25m_run(true, true, 0).ratio(), 0.260, kThreeDecimals);
  EXPECT_NEAR(mst25m_run(false, true, 0).ratio(), 0.315, kThreeDecimals);
  EXPECT_NEAR(mst25m_run(true, false, 0).ratio(), 0.534, kThreeDecimals);
  EXPECT_NEAR(mst25m_run(true, true, 20).ratio(), 0.271, kThreeDecimals);
}

}  // namespace
}  // namespace twill
