// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/topology.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct TopologyProblem {
  Values weight = {}, grad = {}, mask = {};
  std::int64_t num_prune = 0, num_grad = 0, num_random = 0;
  DropScore score = DropScore::kMagnitude;
  double mest_lambda = 0.3;
  std::uint64_t seed = 42;
  std::uint32_t update = 7, stream = 3;

  std::int64_t size() const { return static_cast<std::int64_t>(mask.size()); }

  Outputs run(const Setup& setup) const {
    const Shape shape{size()};
    const Buffer w = setup.wide(weight), g = setup.wide(grad);
    const Buffer m = setup.buffer(mask, DType::kU8);
    const Buffer grown = setup.buffer(Values(mask.size(), 77.0), DType::kU8);
    topology_update(*setup.context(), {.weight = optional_view(w, shape),
                                       .grad = optional_view(g, shape),
                                       .mask = m.view(shape),
                                       .grown = grown.view(shape),
                                       .score = score,
                                       .mest_lambda = mest_lambda,
                                       .num_prune = num_prune,
                                       .num_grad = num_grad,
                                       .num_random = num_random,
                                       .seed = seed,
                                       .update = update,
                                       .stream = stream});
    return {{"weight", w.values()}, {"mask", m.values()}, {"grown", grown.values()}};
  }
};

struct MomentsProblem {
  Values m, v, mask, grown;
  RegrownMoments policy = RegrownMoments::kLayerMean;

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(m.size())};
    const Buffer m_io = setup.wide(m), v_io = setup.wide(v);
    const Buffer mask_in = setup.buffer(mask, DType::kU8);
    const Buffer grown_in = setup.buffer(grown, DType::kU8);
    regrow_moments(*setup.context(), {.m = m_io.view(shape),
                                      .v = v_io.view(shape),
                                      .mask = mask_in.view(shape),
                                      .grown = grown_in.view(shape),
                                      .policy = policy});
    return {{"m", m_io.values()}, {"v", v_io.values()}};
  }
};

// Weights of `values`, 0 where the mask is; counts as shares of what there is.
TopologyProblem masked_problem(Values weight, Values grad, Values mask, double prune, double grow) {
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] == 0.0) weight[i] = 0.0;
  TopologyProblem problem{.weight = std::move(weight), .grad = std::move(grad), .mask = mask};
  const double active = std::accumulate(mask.begin(), mask.end(), 0.0);
  problem.num_prune = static_cast<std::int64_t>(active * prune);
  const double places = static_cast<double>(problem.size() + problem.num_prune) - active;
  problem.num_grad = static_cast<std::int64_t>(places * grow * 0.6);
  problem.num_random = static_cast<std::int64_t>(places * grow * 0.4);
  return problem;
}

testing::AssertionResult check_one(const Setup& setup, const TopologyProblem& problem) {
  return judge_exact(setup, problem)
         << fmt::format(" for {} elements, {} pruned, {} + {} grown, score {}", problem.size(),
                        problem.num_prune, problem.num_grad, problem.num_random,
                        static_cast<int>(problem.score));
}

testing::AssertionResult check_scores(const Setup& setup, TopologyProblem problem) {
  for (const DropScore score : {DropScore::kMagnitude, DropScore::kMest, DropScore::kSensitivity}) {
    problem.score = score;
    if (auto result = check_one(setup, problem); !result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult check_topology_update(const Setup& setup) {
  Random random;
  for (const std::int64_t count : kAwkwardSizes) {
    for (const double share : {0.0, 0.3, 1.0}) {
      // Few different values: ties everywhere, zeros among them.
      const auto problem =
          masked_problem(random.integers(count, -3, 3), random.integers(count, -2, 2),
                         random.integers(count, 0, 1), share, share);
      if (auto result = check_scores(setup, problem); !result) return result;
      const auto untied = masked_problem(random.normal(count), random.normal(count),
                                         random.integers(count, 0, 1), share, 0.5);
      if (auto result = check_scores(setup, untied); !result) return result;
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_regrow_moments(const Setup& setup) {
  Random random;
  for (const std::int64_t count : kAwkwardSizes) {
    MomentsProblem problem{random.normal(count), random.normal(count, 1.0, 5.0),
                           random.integers(count, 0, 1), random.integers(count, 0, 1)};
    for (std::size_t i = 0; i < problem.mask.size(); ++i)
      if (problem.mask[i] == 0.0) problem.grown[i] = 0.0;
    for (const RegrownMoments policy : {RegrownMoments::kLayerMean, RegrownMoments::kZero}) {
      problem.policy = policy;
      if (auto result = judge_exact(setup, problem); !result) return result << " for " << count;
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class Topology : public TableTest {};

TEST_P(Topology, IsExact) { EXPECT_TRUE(check_topology_update(GetParam())); }
TEST_P(Topology, MomentsAreExact) { EXPECT_TRUE(check_regrow_moments(GetParam())); }

// Several pieces of the cpu's cut, ties across them, and enough words for a narrow window.
TEST_P(Topology, IsExactOnManyPieces) {
  Random random;
  const std::int64_t n = 3 * 65536 + 5;
  EXPECT_TRUE(check_one(GetParam(), masked_problem(random.normal(n), random.integers(n, -4, 4),
                                                   random.integers(n, 0, 1), 0.3, 0.2)));
  EXPECT_TRUE(
      check_one(GetParam(), masked_problem(random.integers(n, -9, 9), random.normal(n),
                                           Values(static_cast<std::size_t>(n), 1.0), 0.9, 0.01)));
  EXPECT_TRUE(judge_exact(GetParam(), MomentsProblem{random.normal(n), random.normal(n, 1.0, 9.0),
                                                     Values(static_cast<std::size_t>(n), 1.0),
                                                     random.integers(n, 0, 1)}));
}

// NaN and Inf are equal and best; denormals are in order and not zero.
TEST_P(Topology, OrdersSpecialValues) {
  const Values special{kNan, 0.0, -kInf, 1e-45, -0.0, 3e38, -1e-42, kInf, 1.0, -kNan, 1e-38, -1.0};
  for (std::int64_t count = 0; count <= 12; ++count) {
    EXPECT_TRUE(check_scores(GetParam(), {.weight = special,
                                          .grad = Values(special.rbegin(), special.rend()),
                                          .mask = Values(12, 1.0),
                                          .num_prune = count,
                                          .num_grad = count / 2}));
    EXPECT_TRUE(check_one(
        GetParam(),
        {.weight = Values(12, 0.0), .grad = special, .mask = Values(12, 0.0), .num_grad = count}));
  }
}

TEST_P(Topology, KnowsLargeStreamsAndSeeds) {
  TopologyProblem problem{.mask = Values(257, 0.0), .num_random = 100};
  problem.seed = 0xfedc'ba98'7654'3210u;
  problem.stream = (1u << 24) - 1;
  problem.update = 0xffff'ffffu;
  EXPECT_TRUE(check_one(GetParam(), problem));
}

// The first topology: no weights, no gradient.
TEST_P(Topology, DrawsATopology) {
  for (const std::int64_t count : {0, 1, 300, 999, 1000}) {
    const TopologyProblem problem{.mask = Values(1000, 0.0), .num_random = count};
    EXPECT_TRUE(check_one(GetParam(), problem));
    const Outputs got = problem.run(GetParam());
    EXPECT_EQ(std::accumulate(got[1].values.begin(), got[1].values.end(), 0.0), count);
    EXPECT_EQ(got[1].values, got[2].values);
  }
}

// Words that are no longer uniform among the free places, because the same update has chosen them
// before: too many small ones, then none.
TEST_P(Topology, DrawsTwiceFromOneUpdate) {
  const TopologyProblem first{.mask = Values(5000, 0.0), .num_random = 2500};
  TopologyProblem small{.mask = first.run(exact_oracle())[1].values, .num_random = 600};
  EXPECT_TRUE(check_one(GetParam(), small));
  for (double& bit : small.mask) bit = 1.0 - bit;
  EXPECT_TRUE(check_one(GetParam(), small));
}

// Ties by the thousand, cut anywhere: within a chunk, between two, at the first and the last.
TEST_P(Topology, CutsTiesAnywhere) {
  const std::int64_t n = 40'001;
  const Values ones(static_cast<std::size_t>(n), 1.0);
  for (const std::int64_t count : {1, 16'383, 16'384, 16'385, 32'768, 40'000, 40'001}) {
    TopologyProblem problem{.weight = ones, .grad = ones, .mask = ones, .num_prune = count};
    EXPECT_TRUE(check_one(GetParam(), problem));
    problem.mask = problem.weight = Values(static_cast<std::size_t>(n), 0.0);
    problem.num_prune = 0;
    problem.num_grad = count;
    EXPECT_TRUE(check_one(GetParam(), problem));
  }
}

TEST_P(Topology, LeavesEverythingAloneWhenRefused) {
  if (GetParam().table->copy_in != nullptr) GTEST_SKIP() << "nobody waits for a device's counts";
  TopologyProblem problem{.weight = {1, 0, 3, 0}, .grad = {1, 2, 3, 4}, .mask = {1, 0, 1, 0}};
  problem.num_prune = 3;
  expect_error([&] { problem.run(GetParam()); },
               "[topology_update] num_prune must be at most the 2 active elements, got 3");
  problem.num_prune = 1;
  problem.num_grad = 2;
  problem.num_random = 2;
  expect_error([&] { problem.run(GetParam()); },
               "[topology_update] num_grad + num_random must be at most the 3 places that are not "
               "kept, got 2 + 2");
  problem.num_grad = 4;
  problem.num_random = 0;
  expect_error([&] { problem.run(GetParam()); }, "places that are not kept, got 4 + 0");
}

TEST_P(Topology, RegrowsZeroWhenNothingIsOld) {
  const MomentsProblem problem{{1, 2}, {3, 4}, {1, 1}, {1, 1}};
  const Outputs got = problem.run(GetParam());
  EXPECT_EQ(got[0].values, Values({0, 0}));
  EXPECT_EQ(got[1].values, Values({0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Tables, Topology, testing::ValuesIn(setups_with_device()), setup_name);

TEST(TopologyErrors, NameTheProblem) {
  const Buffer x(Values(6), DType::kF32), u(Values(6), DType::kU8), d(Values(6), DType::kF64);
  const Shape shape{2, 3};
  const TopologyUpdateArgs good{.weight = x.view(shape),
                                .grad = x.view(shape),
                                .mask = u.view(shape),
                                .grown = u.view(shape),
                                .num_prune = 1,
                                .num_grad = 1};
  EXPECT_NO_THROW(validate(good));
  const auto refused = [&](const auto& change, std::string_view text) {
    expect_refused(good, change, text);
  };
  refused([](auto& args) { args.weight = {}; }, "[topology_update] weight is missing");
  refused([](auto& args) { args.grad = {}; }, "[topology_update] grad is missing");
  refused([](auto& args) { args.num_grad = 0, args.score = DropScore::kMest, args.grad = {}; },
          "[topology_update] grad is missing");
  refused([](auto& args) { args.num_grad = args.num_prune = 0, args.weight = {}; },
          "[topology_update] grad needs weight beside it");
  refused([&](auto& args) { args.grad = d.view(shape); },
          "[topology_update] grad must be f32 like weight, got f64");
  refused([&](auto& args) { args.mask = x.view(shape); },
          "[topology_update] mask must be u8, got f32");
  refused([&](auto& args) { args.grown = u.view({6}); },
          "[topology_update] grown must have shape (2, 3), got (6)");
  refused([&](auto& args) { args.weight = x.view({6}); },
          "[topology_update] weight must have shape (2, 3), got (6)");
  refused([&](auto& args) { args.grad = x.view({6}); },
          "[topology_update] grad must have shape (2, 3), got (6)");
  refused([](auto& args) { args.num_prune = -1; },
          "[topology_update] num_prune must be from 0 to the 6 elements of mask, got -1");
  refused([](auto& args) { args.num_grad = 7; },
          "[topology_update] num_grad must be from 0 to the 6 elements of mask, got 7");
  refused(
      [](auto& args) { args.num_random = 1'000'000'000'000; },
      "[topology_update] num_random must be from 0 to the 6 elements of mask, got 1000000000000");
  refused([](auto& args) { args.mest_lambda = kNan; },
          "[topology_update] mest_lambda must be finite and 0 or more, got nan");
  refused([](auto& args) { args.stream = 1 << 24; },
          "[topology_update] stream must be below 2^24, got 16777216");
}

TEST(RegrowMomentsErrors, NameTheProblem) {
  const Buffer x(Values(6), DType::kF32), u(Values(6), DType::kU8);
  const Shape shape{2, 3};
  const RegrowMomentsArgs good{
      .m = x.view(shape), .v = x.view(shape), .mask = u.view(shape), .grown = u.view(shape)};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.m = {}; }, "[regrow_moments] m is missing");
  expect_refused(
      good, [](auto& args) { args.grown = {}; }, "[regrow_moments] grown is missing");
  expect_refused(
      good, [&](auto& args) { args.v = x.view({6}); },
      "[regrow_moments] v must have shape (2, 3), got (6)");
  expect_refused(
      good, [&](auto& args) { args.mask = x.view(shape); },
      "[regrow_moments] mask must be u8, got f32");
}

}  // namespace
}  // namespace twill
