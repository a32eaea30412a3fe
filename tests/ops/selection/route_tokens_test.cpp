// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/route_tokens.h"

#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct EnergyProblem {
  std::int64_t T, F, E;
  Values a, cluster;

  Outputs run(const Setup& setup) const {
    const Buffer a_in = setup.buffer(a), cluster_in = setup.buffer(cluster, DType::kI32);
    const Buffer score = setup.buffer(rubbish(T * E));
    cluster_energy(
        *setup.context(),
        {.a = a_in.view({T, F}), .cluster = cluster_in.view({F}), .score = score.view({T, E})});
    return {{"score", score.values(), score.dtype()}};
  }
};

struct RouteProblem {
  std::int64_t T, E;
  Values score;
  bool wants_route = true;
  std::int64_t deal_window = 0;  // 0: no dealt tokens

  Outputs run(const Setup& setup) const {
    const Buffer score_in = setup.buffer(score);
    const auto rubbish_of = [&](bool wanted) {
      return setup.buffer(Values(static_cast<std::size_t>(wanted ? T : 0), -7.0), DType::kI32);
    };
    const bool deals = deal_window > 0;
    const Buffer order = rubbish_of(true), route = rubbish_of(wants_route);
    const Buffer dealt = rubbish_of(deals);
    route_tokens(*setup.context(), {.score = score_in.view({T, E}),
                                    .order = order.view({T}),
                                    .route = optional_view(route, {T}),
                                    .dealt = optional_view(dealt, {T}),
                                    .deal_window = deals ? deal_window : 4});
    return {{"order", order.values(), DType::kI32},
            {"route", route.values(), DType::kI32},
            {"dealt", dealt.values(), DType::kI32}};
  }
};

}  // namespace

testing::AssertionResult check_cluster_energy(const Setup& setup) {
  Random random;
  for (const std::int64_t T : {0, 1, 3, 4, 5, 70})
    for (const std::int64_t F : {0, 1, 8, 33, 1027})
      for (const std::int64_t E : {1, 2, 7}) {
        const EnergyProblem problem{T, F, E, random.normal(T * F), random.integers(F, 0, E - 1)};
        if (auto result = judge_exact(setup, problem); !result)
          return result << fmt::format(" for T {}, F {}, E {}", T, F, E);
      }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_route_tokens(const Setup& setup) {
  Random random;
  for (const std::int64_t T : kAwkwardSizes)
    for (const std::int64_t E : {1, 2, 8, 9}) {
      RouteProblem problem{T, E, random.integers(T * E, -2, 2)};  // ties
      for (std::size_t i = 0; i < problem.score.size(); i += 11) problem.score[i] = kNan;
      for (std::size_t i = 0; i < problem.score.size(); i += 7) problem.score[i] = kInf;
      for (std::size_t i = 0; i < problem.score.size(); i += 5) problem.score[i] = -kInf;
      problem.wants_route = T % 2 == 1;
      for (const std::int64_t window : {0, 4, 8, 12, 64}) {
        problem.deal_window = window;
        if (auto result = judge_exact(setup, problem); !result)
          return result << fmt::format(" for T {}, E {}, window {}", T, E, window);
      }
    }
  return testing::AssertionSuccess();
}

namespace {

class RouteTokens : public TableTest {};

TEST_P(RouteTokens, EnergyIsExact) { EXPECT_TRUE(check_cluster_energy(GetParam())); }
TEST_P(RouteTokens, IsExact) { EXPECT_TRUE(check_route_tokens(GetParam())); }

// More clusters and routes than fit a byte or a thread's memory, and many chunks of tokens.
TEST_P(RouteTokens, ManyClusters) {
  Random random;
  const EnergyProblem energy{40, 3000, 300, random.normal(120'000), random.integers(3000, 0, 299)};
  EXPECT_TRUE(judge_exact(GetParam(), energy));
  RouteProblem wide{70, 1000, random.normal(70'000)};
  EXPECT_TRUE(judge_exact(GetParam(), wide));
  // One column of each token is high: routes are spread evenly over two digits.
  RouteProblem tall{5000, 261, Values(5000 * 261)};
  const Values best = random.integers(5000, 0, 260);
  for (std::size_t t = 0; t < 5000; ++t)
    tall.score[t * 261 + static_cast<std::size_t>(best[t])] = 1.0;
  tall.deal_window = 16;
  EXPECT_TRUE(judge_exact(GetParam(), tall));
}

// Clusters in runs, as neurons lie once they are ordered, and one cluster for all.
TEST_P(RouteTokens, ClustersInRuns) {
  Random random;
  EnergyProblem problem{33, 1000, 8, random.normal(33'000), Values(1000)};
  EXPECT_TRUE(judge_exact(GetParam(), problem));
  for (std::size_t i = 0; i < 1000; ++i) problem.cluster[i] = static_cast<double>(i / 125);
  EXPECT_TRUE(judge_exact(GetParam(), problem));
}

TEST_P(RouteTokens, SortsByHand) {
  // Best columns 1, 0, 1 (NaN is infinite), 0 (a tie), 0.
  const RouteProblem problem{5, 2, {1, 2, 5, 0, 3, kNan, 4, 4, -1, -2}};
  const Outputs out = problem.run(GetParam());
  EXPECT_EQ(out[0].values, (Values{1, 3, 4, 0, 2}));
  EXPECT_EQ(out[1].values, (Values{1, 0, 1, 0, 0}));
}

// Tokens already sorted, so that a number is a place in the order.
TEST_P(RouteTokens, DealsByHand) {
  RouteProblem problem{19, 1, Values(19)};
  problem.deal_window = 8;  // strata 0 … 8 and 9 … 18: two windows of four tokens of each
  EXPECT_EQ(problem.run(GetParam())[2].values,
            (Values{0, 1, 2, 3, 9, 10, 11, 12, 4, 5, 6, 7, 13, 14, 15, 16, 8, 17, 18}));
  problem.deal_window = 4;  // strata from 0, 4, 9 and 14: four windows of one token of each
  EXPECT_EQ(problem.run(GetParam())[2].values,
            (Values{0, 4, 9, 14, 1, 5, 10, 15, 2, 6, 11, 16, 3, 7, 12, 17, 8, 13, 18}));
  problem.deal_window = 20;  // five strata of three or four tokens: no whole window
  EXPECT_EQ(problem.run(GetParam())[2].values, problem.run(GetParam())[0].values);
}

TEST_P(RouteTokens, SumsByHand) {
  const EnergyProblem problem{2, 4, 3, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 2, 0, 2}};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{4, 0, 6, 12, 0, 14}));
}

INSTANTIATE_TEST_SUITE_P(Tables, RouteTokens, testing::ValuesIn(setups_with_device()), setup_name);

TEST(RouteTokensErrors, CpuStoresNoBf16) {
  const Buffer x(Values(2), DType::kBf16), order(Values(1), DType::kI32);
  const Context cpu(cpu_table(), 1);
  expect_error(
      [&] {
        route_tokens(cpu, {.score = x.view({1, 2}), .order = order.view({1})});
      },
      "[route_tokens] the cpu backend computes in f32 and got bf16");
  expect_error(
      [&] {
        cluster_energy(cpu,
                       {.a = x.view({2, 1}), .cluster = order.view({1}), .score = x.view({2, 1})});
      },
      "[cluster_energy] the cpu backend computes in f32 and got bf16");
}

TEST(RouteTokensErrors, NameTheProblem) {
  const Buffer score(Values(6), DType::kF32), order(Values(3), DType::kI32);
  const RouteTokensArgs good{
      .score = score.view({3, 2}), .order = order.view({3}), .route = order.view({3})};
  EXPECT_NO_THROW(validate(good));
  const auto refuse = [&](const auto& change, std::string_view text) {
    expect_refused(good, change, text);
  };
  refuse([](auto& args) { args.score = {}; }, "[route_tokens] score is missing");
  refuse([&](auto& args) { args.score = score.view({6}); },
         "[route_tokens] score must have shape (T, E) with E 1 or more, got (6)");
  refuse([](auto& args) { args.order = {}; }, "[route_tokens] order is missing");
  refuse([&](auto& args) { args.order = score.view({6}); },
         "[route_tokens] order must be i32, got f32");
  refuse(
      [&](auto& args) {
        args.order = order.view({3, 1});
      },
      "[route_tokens] order must have shape (3), got (3, 1)");
  refuse([&](auto& args) { args.route = score.view({6}); },
         "[route_tokens] route must be i32, got f32");
  refuse(
      [&](auto& args) {
        args.route = order.view({1, 3});
      },
      "[route_tokens] route must have shape (3), got (1, 3)");
  refuse([&](auto& args) { args.dealt = score.view({6}); },
         "[route_tokens] dealt must be i32, got f32");
  refuse(
      [&](auto& args) {
        args.dealt = order.view({1, 3});
      },
      "[route_tokens] dealt must have shape (3), got (1, 3)");
  for (const std::int64_t window : {0, 6, -4})
    refuse([&](auto& args) { args.deal_window = window; },
           fmt::format("[route_tokens] deal_window must be a multiple of 4, 4 or more, got {}",
                       window));
  const View pretended(score.view({6}).bytes(), DType::kF32, {std::int64_t{1} << 31, 1});
  refuse([&](auto& args) { args.score = pretended; },
         "[route_tokens] score must have at most 2^31 - 1 rows, got 2147483648");
}

TEST(ClusterEnergyErrors, NameTheProblem) {
  const Buffer a(Values(6), DType::kF32), score(Values(4), DType::kF32);
  const Buffer cluster(Values(3), DType::kI32);
  const ClusterEnergyArgs good{
      .a = a.view({2, 3}), .cluster = cluster.view({3}), .score = score.view({2, 2})};
  EXPECT_NO_THROW(validate(good));
  const auto refuse = [&](const auto& change, std::string_view text) {
    expect_refused(good, change, text);
  };
  refuse([](auto& args) { args.score = {}; }, "[cluster_energy] score is missing");
  refuse([&](auto& args) { args.a = a.view({6}); },
         "[cluster_energy] a must have shape (T, F), got (6)");
  refuse(
      [&](auto& args) {
        args.score = score.view({4, 1});
      },
      "[cluster_energy] score must have shape (2, E), got (4, 1)");
  refuse([](auto& args) { args.cluster = {}; }, "[cluster_energy] cluster is missing");
  refuse([&](auto& args) { args.cluster = score.view({4}); },
         "[cluster_energy] cluster must be i32, got f32");
  refuse(
      [&](auto& args) {
        args.cluster = cluster.view({3, 1});
      },
      "[cluster_energy] cluster must have shape (3), got (3, 1)");
}

}  // namespace
}  // namespace twill
