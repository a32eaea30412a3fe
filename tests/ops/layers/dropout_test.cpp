// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/dropout.h"

#include <cmath>

#include "base/rng.h"
#include "ops/checks.h"
#include "ops/transfer.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

enum class Alias { kNone, kYIsX, kYIsAddend };

struct DropoutProblem {
  Values x;
  double p;
  Values addend = {};  // empty: absent
  Alias alias = Alias::kNone;
  std::uint64_t seed = 42, stream = 3;
  std::uint32_t step = 7;
  bool reads_step = false;  // from memory, where it stands instead

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(x.size())};
    const Buffer x_in = setup.buffer(x), addend_in = setup.buffer(addend);
    const Buffer own = setup.buffer(rubbish(shape[0]));
    const Buffer& y = alias == Alias::kYIsX ? x_in : alias == Alias::kYIsAddend ? addend_in : own;
    const auto opened = setup.context();
    const Context& context = *opened;
    Tensor step_word(DType::kI32, {1}, context.memory());
    const auto bits = static_cast<std::int32_t>(step);
    copy_in(context, step_word.view(), &bits);
    dropout(context, {.x = x_in.view(shape),
                      .addend = optional_view(addend_in, shape),
                      .y = y.view(shape),
                      .p = p,
                      .seed = seed,
                      .step = reads_step ? 0 : step,
                      .step_at = reads_step ? step_word.view() : View(),
                      .stream = stream});
    return {{"y", y.values(), y.dtype()}};
  }
};

// Which elements survive: x = 1 and p = 1/2 give 2 or 0.
std::vector<bool> mask_of(DropoutProblem problem, std::size_t count) {
  problem.x.assign(count, 1.0);
  std::vector<bool> mask;
  const Values output = problem.run(oracle())[0].values;
  for (const double y : output) mask.push_back(y != 0.0);
  return mask;
}

testing::AssertionResult check_one(const Setup& setup, const DropoutProblem& problem) {
  return judge_exact(setup, problem)
         << fmt::format(" for {} elements, p {}, addend {}, alias {}", problem.x.size(), problem.p,
                        !problem.addend.empty(), static_cast<int>(problem.alias));
}

}  // namespace

testing::AssertionResult check_dropout(const Setup& setup) {
  Random random;
  for (const std::int64_t count : kAwkwardSizes) {
    for (const double p : {0.0, 0.1, 0.5, 0.9}) {
      DropoutProblem problem{.x = random.normal(count), .p = p};
      if (auto result = check_one(setup, problem); !result) return result;
      problem.alias = Alias::kYIsX;
      if (auto result = check_one(setup, problem); !result) return result;
      problem.addend = random.normal(count);
      if (auto result = check_one(setup, problem); !result) return result;
      problem.alias = Alias::kYIsAddend;
      if (auto result = check_one(setup, problem); !result) return result;
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class Dropout : public TableTest {};

TEST_P(Dropout, IsExact) { EXPECT_TRUE(check_dropout(GetParam())); }

TEST_P(Dropout, KnowsLargeStreamsAndSeeds) {
  Random random;
  DropoutProblem problem{.x = random.normal(257), .p = 0.3};
  problem.seed = 0xfedc'ba98'7654'3210u;
  problem.stream = (1u << 24) - 1;
  problem.step = 0xffff'ffffu;
  EXPECT_TRUE(check_one(GetParam(), problem));
}

TEST_P(Dropout, ReadsTheStepWhereItStands) {
  Random random;
  DropoutProblem problem{.x = random.normal(257), .p = 0.3};
  problem.step = 0x8000'0001u;
  const Values plain = problem.run(GetParam())[0].values;
  problem.reads_step = true;
  EXPECT_EQ(problem.run(GetParam())[0].values, plain);
  EXPECT_TRUE(check_one(GetParam(), problem));
}

INSTANTIATE_TEST_SUITE_P(Tables, Dropout, testing::ValuesIn(setups_with_device()), setup_name);

class DropoutReference : public SeededTest {};

TEST_F(DropoutReference, ReadsTheHeaderLiterally) {
  Random random;
  const DropoutProblem problem{.x = random.normal(11), .p = 0.4, .addend = random.normal(11)};
  const Values y = problem.run(exact_oracle())[0].values;
  for (std::uint64_t i = 0; i < 11; ++i) {
    const std::uint64_t element = problem.stream * (std::uint64_t{1} << 40) + i / 4;
    const std::uint32_t word =
        random_bits(problem.seed, Purpose::kDropout, problem.step, element)[i % 4];
    const bool keep = static_cast<double>(word >> 8) * 0x1p-24 >= 0.4;
    const float kept = static_cast<float>(problem.x[i]) * static_cast<float>(1.0 / 0.6);
    EXPECT_EQ(y[i], static_cast<float>(problem.addend[i]) + (keep ? kept : 0.0f)) << i;
  }
}

// The number of survivors of n elements has standard deviation sqrt(n p (1 - p)); six of them are
// passed once in 5e8 seeds.
TEST_F(DropoutReference, KeepsTheRightShare) {
  const double n = 100'000;
  for (const double p : {0.1, 0.5, 0.8}) {
    const DropoutProblem problem{.x = Values(100'000, 1.0), .p = p};
    double kept = 0.0, sum = 0.0;
    const Values output = problem.run(oracle())[0].values;
    for (const double y : output) {
      kept += y != 0.0;
      sum += y;
    }
    const double sigma = std::sqrt(n * p * (1.0 - p));
    EXPECT_NEAR(kept, n * (1.0 - p), 6.0 * sigma) << p;
    EXPECT_NEAR(sum, n, 6.0 * sigma / (1.0 - p)) << p;
  }
}

TEST_F(DropoutReference, ZeroProbabilityKeepsEverything) {
  Random random;
  const DropoutProblem problem{.x = random.normal(33), .p = 0.0};
  EXPECT_EQ(problem.run(exact_oracle())[0].values, problem.x);
}

// y = D x with D diagonal, so D is its own adjoint: the backward pass is the same op on dy.
TEST_F(DropoutReference, BackwardHasTheSameMask) {
  Random random;
  const DropoutProblem forward{.x = random.normal(1000), .p = 0.5};
  DropoutProblem backward = forward;
  backward.x = random.normal(1000);
  const Values y = forward.run(oracle())[0].values, dx = backward.run(oracle())[0].values;
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i] == 0.0, dx[i] == 0.0) << i;
    EXPECT_EQ(y[i] * backward.x[i], forward.x[i] * dx[i]) << i;  // factors 0 and 2: exact
  }
}

TEST_F(DropoutReference, SeedStepAndStreamChooseTheMask) {
  const DropoutProblem base{.x = {}, .p = 0.5};
  DropoutProblem other_seed = base, other_step = base, other_stream = base;
  other_seed.seed += 1;
  other_step.step += 1;
  other_stream.stream += 1;
  const auto mask = mask_of(base, 256);
  EXPECT_EQ(mask, mask_of(base, 256));
  EXPECT_NE(mask, mask_of(other_seed, 256));
  EXPECT_NE(mask, mask_of(other_step, 256));
  EXPECT_NE(mask, mask_of(other_stream, 256));
}

TEST(DropoutErrors, NameTheProblem) {
  const Buffer x(Values(6), DType::kF32);
  const DropoutArgs good{
      .x = x.view({2, 3}), .addend = x.view({2, 3}), .y = x.view({2, 3}), .p = 0.5};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.y = {}; }, "[dropout] y is missing");
  expect_refused(
      good, [&](auto& args) { args.addend = x.view({6}); },
      "[dropout] addend must have shape (2, 3), got (6)");
  expect_refused(
      good, [&](auto& args) { args.y = x.view({6}); },
      "[dropout] y must have shape (2, 3), got (6)");
  expect_refused(
      good, [](auto& args) { args.p = 1.0; }, "[dropout] p must be 0 or more and below 1, got 1");
  expect_refused(
      good, [](auto& args) { args.stream = 1 << 24; },
      "[dropout] stream must be below 2^24, got 16777216");
  expect_refused(
      good, [](auto& args) { args.p = -0.25; },
      "[dropout] p must be 0 or more and below 1, got -0.25");
  const Shape huge{(std::int64_t{1} << 42) + 1};
  const View pretended(x.view({6}).bytes(), DType::kF32, huge);  // never read
  expect_refused(
      good, [&](auto& args) { args.x = args.y = pretended, args.addend = {}; },
      "[dropout] x must have at most 2^42 elements, got 4398046511105");
}

}  // namespace
}  // namespace twill
