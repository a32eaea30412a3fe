// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/embedding.h"

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/finite_difference.h"
#include "support/judge.h"

namespace twill {
namespace {

struct EmbeddingShape {
  std::int64_t B, T, V, P, C;  // P = 0: no position table
};

struct ForwardProblem {
  EmbeddingShape shape;
  Values tokens, token_table, position_table;
  std::int64_t first_position = 0;

  Outputs run(const Setup& setup) const {
    const auto [B, T, V, P, C] = shape;
    const Buffer tokens_in = setup.buffer(tokens, DType::kI32);
    const Buffer token_in = setup.buffer(token_table), position_in = setup.buffer(position_table);
    const Buffer out = setup.buffer(rubbish(B * T * C));
    embedding_forward(*setup.context(), {.tokens = tokens_in.view({B, T}),
                                         .token_table = token_in.view({V, C}),
                                         .position_table = optional_view(position_in, {P, C}),
                                         .out = out.view({B, T, C}),
                                         .first_position = first_position});
    return {{"out", out.values(), out.dtype()}};
  }
};

struct BackwardProblem {
  EmbeddingShape shape;
  Values tokens, dout;
  Values dtoken_table, dposition_table;  // what they held

  Outputs run(const Setup& setup) const {
    const auto [B, T, V, P, C] = shape;
    const Buffer tokens_in = setup.buffer(tokens, DType::kI32);
    const Buffer dout_in = setup.buffer(dout), dtoken = setup.wide(dtoken_table);
    const Buffer dposition = setup.wide(dposition_table);
    embedding_backward(*setup.context(), {.tokens = tokens_in.view({B, T}),
                                          .dout = dout_in.view({B, T, C}),
                                          .dtoken_table = dtoken.view({V, C}),
                                          .dposition_table = optional_view(dposition, {P, C})});
    return {{"dtoken_table", dtoken.values()}, {"dposition_table", dposition.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    const std::int64_t C = shape.C;
    std::vector<N> dtoken, dposition;
    for (const double v : dtoken_table) dtoken.push_back(N(v));
    for (const double v : dposition_table) dposition.push_back(N(v));
    for (std::int64_t row = 0; row < shape.B * shape.T; ++row) {
      for (std::int64_t c = 0; c < C; ++c) {
        const N d = N(dout[row * C + c]);
        dtoken[static_cast<std::int64_t>(tokens[row]) * C + c] += d;
        if (!dposition.empty()) dposition[row % shape.T * C + c] += d;
      }
    }
    return {dtoken, dposition};
  }

  // (n + 1) eps Σ|terms|; no row has more terms than there are tokens.
  ErrorModel model() const {
    return {.terms = static_cast<double>(shape.B * shape.T + 1), .eps_out = 0.0};
  }
};

ForwardProblem random_forward(Random& random, const EmbeddingShape& shape) {
  return {shape, random.integers(shape.B * shape.T, 0, shape.V - 1),
          random.normal(shape.V * shape.C), random.normal(shape.P * shape.C)};
}

BackwardProblem random_backward(Random& random, const EmbeddingShape& shape) {
  return {shape, random.integers(shape.B * shape.T, 0, shape.V - 1),
          random.normal(shape.B * shape.T * shape.C), random.normal(shape.V * shape.C),
          random.normal(shape.P * shape.C)};
}

std::vector<EmbeddingShape> awkward_shapes() {
  std::vector<EmbeddingShape> shapes{{0, 3, 5, 3, 4}, {2, 0, 5, 3, 4}, {1, 1, 1, 1, 1}};
  for (const std::int64_t C : kAwkwardSizes)
    for (const std::int64_t P : {0, 5, 9}) shapes.push_back({3, 5, 11, P, C});
  shapes.push_back({2, 130, 3, 130, 17});  // few tokens, each many times
  shapes.push_back({2, 17, 1000, 0, 33});  // many tokens, each seldom
  return shapes;
}

std::string describe(const EmbeddingShape& shape) {
  return fmt::format(" for B {}, T {}, V {}, P {}, C {}", shape.B, shape.T, shape.V, shape.P,
                     shape.C);
}

}  // namespace

testing::AssertionResult check_embedding_forward(const Setup& setup) {
  Random random;
  for (const EmbeddingShape& shape : awkward_shapes())
    if (auto result = judge_exact(setup, random_forward(random, shape)); !result)
      return result << describe(shape);
  ForwardProblem late = random_forward(random, {2, 5, 11, 9, 17});
  late.first_position = 4;  // the last that fits
  return judge_exact(setup, late);
}

testing::AssertionResult check_embedding_backward(const Setup& setup) {
  Random random;
  for (const EmbeddingShape& shape : awkward_shapes()) {
    const BackwardProblem problem = random_backward(random, shape);
    if (auto result = judge(setup, problem, problem.model()); !result)
      return result << describe(shape);
  }
  return testing::AssertionSuccess();
}

namespace {

class Embedding : public TableTest {};

// One width, tokens 1 and 0: rows 1 and 0 of the table plus positions 2 and 3.
TEST_P(Embedding, StartsAtTheFirstPosition) {
  ForwardProblem problem{{1, 2, 2, 4, 1}, {1, 0}, {10, 20}, {1, 2, 3, 4}};
  problem.first_position = 2;
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{23, 14}));
}

TEST_P(Embedding, ForwardIsExact) { EXPECT_TRUE(check_embedding_forward(GetParam())); }
TEST_P(Embedding, BackwardMatchesOracle) { EXPECT_TRUE(check_embedding_backward(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Tables, Embedding, testing::ValuesIn(setups_with_device()), setup_name);

class EmbeddingReference : public SeededTest {};

TEST_F(EmbeddingReference, LooksUpByHand) {
  const EmbeddingShape shape{2, 2, 3, 3, 2};
  const ForwardProblem problem{shape, {2, 0, 1, 2}, {1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}};
  EXPECT_EQ(problem.run(oracle())[0].values, (Values{15, 26, 31, 42, 13, 24, 35, 46}));
}

TEST_F(EmbeddingReference, WithoutPositionsCopiesRows) {
  const ForwardProblem problem{{1, 3, 2, 0, 1}, {1, 0, 1}, {7, -0.0}, {}};
  EXPECT_TRUE(expect_same_bits("out", problem.run(oracle())[0].values, {-0.0, 7, -0.0}));
}

// In f32 one addition and one rounding: 2^24 + 1 is lost.
TEST_F(EmbeddingReference, AddsOnceInStoragePrecision) {
  const ForwardProblem problem{{1, 1, 1, 1, 1}, {0}, {16777216.0}, {1.0}};
  EXPECT_EQ(problem.run(exact_oracle())[0].values, Values{16777216.0});
  EXPECT_EQ(problem.run(oracle())[0].values, Values{16777217.0});
}

TEST_F(EmbeddingReference, GradientMatchesFiniteDifferences) {
  Random random;
  const EmbeddingShape shape{2, 3, 4, 5, 2};
  const ForwardProblem forward = random_forward(random, shape);
  const Values dout = random.normal(2 * 3 * 2);
  const Outputs gradients =
      BackwardProblem{shape, forward.tokens, dout, Values(8, 0.0), Values(10, 0.0)}.run(oracle());
  const auto loss_of = [&](Values ForwardProblem::*operand) {
    return [&, operand](const Values& at) {
      ForwardProblem moved = forward;
      moved.*operand = at;
      return weighted_sum(moved.run(oracle())[0].values, dout);
    };
  };
  EXPECT_TRUE(expect_gradient("dtoken_table", loss_of(&ForwardProblem::token_table),
                              forward.token_table, gradients[0].values));
  EXPECT_TRUE(expect_gradient("dposition_table", loss_of(&ForwardProblem::position_table),
                              forward.position_table, gradients[1].values));
}

TEST_F(EmbeddingReference, BackwardKeepsWhatTablesHeld) {
  const BackwardProblem problem{{1, 2, 2, 2, 1}, {1, 1}, {5, 6}, {100, 200}, {1000, 2000}};
  const Outputs out = problem.run(oracle());
  EXPECT_EQ(out[0].values, (Values{100, 211}));
  EXPECT_EQ(out[1].values, (Values{1005, 2006}));
}

TEST(EmbeddingErrors, NameTheOperand) {
  const Buffer tokens(Values(6), DType::kI32), table(Values(8), DType::kF32);
  const Buffer out(Values(12), DType::kF32), positions(Values(6), DType::kF32);
  const EmbeddingForwardArgs forward{.tokens = tokens.view({2, 3}),
                                     .token_table = table.view({4, 2}),
                                     .position_table = positions.view({3, 2}),
                                     .out = out.view({2, 3, 2})};
  EXPECT_NO_THROW(validate(forward));
  expect_refused(
      forward, [](auto& args) { args.token_table = {}; }, "[embedding] token_table is missing");
  expect_refused(
      forward,
      [&](auto& args) {
        args.tokens = positions.view({2, 3});
      },
      "[embedding] tokens must be i32, got f32");
  expect_refused(
      forward, [&](auto& args) { args.tokens = tokens.view({6}); },
      "[embedding] tokens must have shape (B, T), got (6)");
  expect_refused(
      forward, [&](auto& args) { args.token_table = table.view({8}); },
      "[embedding] token table must have shape (V, C), got (8)");
  expect_refused(
      forward,
      [&](auto& args) {
        args.out = out.view({3, 2, 2});
      },
      "[embedding] out must have shape (2, 3, 2), got (3, 2, 2)");
  expect_refused(
      forward,
      [&](auto& args) {
        args.position_table = positions.view({2, 3});
      },
      "[embedding] position table must have at least 3 rows of 2, got (2, 3)");
  expect_refused(
      forward, [](auto& args) { args.first_position = -1; },
      "[embedding] first_position must be at least 0, got -1");
  expect_refused(
      forward,
      [&](auto& args) {
        args.position_table = positions.view({3, 2}), args.first_position = 1;
      },
      "[embedding] position table must have at least 4 rows of 2, got (3, 2)");

  const EmbeddingBackwardArgs backward{.tokens = tokens.view({2, 3}),
                                       .dout = out.view({2, 3, 2}),
                                       .dtoken_table = table.view({4, 2}),
                                       .dposition_table = positions.view({3, 2})};
  EXPECT_NO_THROW(validate(backward));
  expect_refused(
      backward, [](auto& args) { args.dout = {}; }, "[embedding] dout is missing");
  expect_refused(
      backward, [&](auto& args) { args.dout = out.view({12}); },
      "[embedding] dout must have shape (2, 3, 2), got (12)");
  expect_refused(
      backward,
      [&](auto& args) {
        args.dposition_table = table.view({4, 2}), args.tokens = tokens.view({1, 6}),
        args.dout = out.view({1, 6, 2});
      },
      "[embedding] position table must have at least 6 rows of 2, got (4, 2)");
}

}  // namespace
}  // namespace twill
