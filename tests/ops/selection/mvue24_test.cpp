// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/mvue24.h"

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct MvueProblem {
  Values x;
  std::int64_t tokens, channels;
  MvueLaw law = MvueLaw::kExact;
  bool in_place = false, masked = true;
  std::uint64_t seed = 42;
  std::uint32_t step = 7, stream = 3;

  Outputs run(const Setup& setup) const {
    const Shape shape{tokens, channels};
    const Buffer x_in = setup.buffer(x), own = setup.buffer(rubbish(tokens * channels));
    const Buffer& y = in_place ? x_in : own;
    const Buffer mask = setup.buffer(Values(x.size(), 7.0), DType::kU8);
    mvue24(*setup.context(), {.x = x_in.view(shape),
                              .y = y.view(shape),
                              .mask = masked ? mask.view(shape) : View(),
                              .law = law,
                              .seed = seed,
                              .step = step,
                              .stream = stream});
    if (!masked) return {{"y", y.values(), y.dtype()}};
    return {{"y", y.values(), y.dtype()}, {"mask", mask.values(), mask.dtype()}};
  }
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr MvueLaw kLaws[] = {MvueLaw::kExact, MvueLaw::kTwoDraw};

// Ties, many zeros of both signs, denormals, overflow, and what is not finite.
Values awkward_data(Random& random, std::int64_t count) {
  Values values = random.integers(count, -1, 2);
  const Values kind = random.integers(count, 0, 31);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (kind[i] < 8) values[i] = 0.0;
    if (kind[i] == 8) values[i] = -0.0;
    if (kind[i] == 9) values[i] = 0x1p-140 * values[i];
    if (kind[i] == 10) values[i] = kNan;
    if (kind[i] == 11) values[i] = values[i] < 0 ? -kInf : kInf;
    if (kind[i] == 12) values[i] *= 0x1p126;
    if (kind[i] == 13) values[i] *= 1e6;
  }
  return drawn(values);
}

testing::AssertionResult check_one(const Setup& setup, const MvueProblem& problem) {
  return judge_exact(setup, problem)
         << fmt::format(" for {} tokens, {} channels, law {}, in place {}", problem.tokens,
                        problem.channels, static_cast<int>(problem.law), problem.in_place);
}

}  // namespace

testing::AssertionResult check_mvue24(const Setup& setup) {
  Random random;
  for (const std::int64_t tokens : {0, 1, 3, 4, 6, 16, 17, 39})
    for (const std::int64_t channels : {0, 1, 3, 8, 17, 33, 300})
      for (const MvueLaw law : kLaws) {
        MvueProblem problem{.x = random.normal(tokens * channels),
                            .tokens = tokens,
                            .channels = channels,
                            .law = law};
        if (auto result = check_one(setup, problem); !result) return result;
        problem.x = awkward_data(random, tokens * channels);
        problem.in_place = true;
        if (auto result = check_one(setup, problem); !result) return result;
      }
  return testing::AssertionSuccess();
}

namespace {

class Mvue24 : public TableTest {};

TEST_P(Mvue24, IsExact) { EXPECT_TRUE(check_mvue24(GetParam())); }

TEST_P(Mvue24, NeedsNoMask) {
  Random random;
  EXPECT_TRUE(check_one(
      GetParam(), {.x = random.normal(20 * 37), .tokens = 20, .channels = 37, .masked = false}));
}

TEST_P(Mvue24, KnowsLargeNumbers) {
  Random random;
  for (const MvueLaw law : kLaws) {
    MvueProblem problem{.x = random.normal(2048 * 40), .tokens = 2048, .channels = 40, .law = law};
    problem.seed = 0xfedc'ba98'7654'3210u;
    problem.step = 0xffff'ffffu;
    problem.stream = (1u << 24) - 1;
    EXPECT_TRUE(check_one(GetParam(), problem));
  }
}

// Every draw of a group of small numbers: many values of u meet ties, and h its rounding to bf16.
TEST_P(Mvue24, DrawsManyTimesFromOneGroup) {
  const Values group{3, -1, 0.0703125, 2};
  MvueProblem problem{.x = {}, .tokens = 4, .channels = 4096};
  for (const double value : group) problem.x.insert(problem.x.end(), 4096, value);
  for (const MvueLaw law : kLaws) {
    problem.law = law;
    EXPECT_TRUE(check_one(GetParam(), problem));
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Mvue24, testing::ValuesIn(setups_with_device()), setup_name);

class Mvue24Reference : public SeededTest {};

// One call of philox serves sixteen tokens of a channel, one word per group.
TEST_F(Mvue24Reference, ReadsTheHeaderLiterally) {
  Random random;
  const MvueProblem problem{.x = random.normal(36 * 3), .tokens = 36, .channels = 3};
  const Outputs out = problem.run(exact_oracle());
  for (std::uint32_t g = 0; g < 9; ++g)
    for (std::uint32_t c = 0; c < 3; ++c) {
      float group[4];
      for (std::uint32_t k = 0; k < 4; ++k)
        group[k] = static_cast<float>(problem.x[(4 * g + k) * 3 + c]);
      const std::uint32_t word = philox4x32({g / 4, c, 7, 7 | 3 << 8}, 42, 0)[g % 4];
      const auto pair = mvue24_exact(group, static_cast<float>(word >> 9) * 0x1p-23f);
      for (std::uint32_t k = 0; k < 4; ++k) {
        EXPECT_EQ(out[0].values[(4 * g + k) * 3 + c], pair.value_at(static_cast<int>(k)));
        EXPECT_EQ(out[1].values[(4 * g + k) * 3 + c], pair.keeps(static_cast<int>(k)));
      }
    }
}

TEST_F(Mvue24Reference, SeedStepAndStreamChooseTheDraw) {
  Random random;
  const MvueProblem base{.x = random.normal(64 * 8), .tokens = 64, .channels = 8};
  MvueProblem seed = base, step = base, stream = base;
  seed.seed += 1;
  step.step += 1;
  stream.stream += 1;
  for (const MvueLaw law : kLaws) {
    const auto mask = [&](MvueProblem problem) {
      problem.law = law;
      return problem.run(exact_oracle())[1].values;
    };
    EXPECT_EQ(mask(base), mask(base));
    EXPECT_NE(mask(base), mask(seed));
    EXPECT_NE(mask(base), mask(step));
    EXPECT_NE(mask(base), mask(stream));
  }
}

// The two largest as they are: NaN = Inf, the lowest index first.
TEST_F(Mvue24Reference, DoesNotSampleWhatIsNotFinite) {
  for (const MvueLaw law : kLaws) {
    const auto run = [&](Values x) {
      return MvueProblem{.x = std::move(x), .tokens = 4, .channels = 1, .law = law}.run(
          exact_oracle());
    };
    const Outputs one = run({1, -3, kInf, 3});
    EXPECT_TRUE(expect_same_bits("one", one[0].values, Values{0, -3, kInf, 0}));
    EXPECT_EQ(one[1].values, (Values{0, 1, 1, 0}));
    const Outputs three = run({5, kNan, -kInf, kNan});
    EXPECT_TRUE(expect_same_bits("three", three[0].values, Values{0, kNan, -kInf, 0}));
    EXPECT_EQ(three[1].values, (Values{0, 1, 1, 0}));
    EXPECT_EQ(run({0, 0, 0, kNan})[1].values, (Values{1, 0, 0, 1}));
  }
}

// Always two positions, whatever is zero; of a short group those below T.
TEST_F(Mvue24Reference, KeepsTwoPositions) {
  for (const MvueLaw law : kLaws)
    for (int zeros = 0; zeros < 16; ++zeros) {
      MvueProblem problem{.x = {}, .tokens = 4, .channels = 50, .law = law};
      for (int k = 0; k < 4; ++k)
        for (int c = 0; c < 50; ++c) problem.x.push_back(zeros >> k & 1 ? 0.0 : 1.0 + k);
      const Values mask = problem.run(exact_oracle())[1].values;
      for (std::size_t c = 0; c < 50; ++c)
        EXPECT_EQ(mask[c] + mask[50 + c] + mask[100 + c] + mask[150 + c], 2.0) << zeros;
    }
  const MvueProblem one{.x = {3}, .tokens = 1, .channels = 1};
  EXPECT_EQ(one.run(exact_oracle())[0].values, (Values{3}));
}

TEST(Mvue24Errors, CpuStoresNoBf16) {
  const Buffer x(Values(4), DType::kBf16);
  expect_error(
      [&] {
        mvue24(Context(cpu_table(), 1), {.x = x.view({4, 1}), .y = x.view({4, 1})});
      },
      "[mvue24] the cpu backend computes in f32 and got bf16");
}

TEST(Mvue24Errors, NameTheProblem) {
  const Buffer x(Values(8), DType::kF32), mask(Values(8), DType::kU8);
  const Mvue24Args good{.x = x.view({4, 2}), .y = x.view({4, 2}), .mask = mask.view({4, 2})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.y = {}; }, "[mvue24] y is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = mask.view({4, 2});
      },
      "[mvue24] x must be f32, bf16 or f64, got u8");
  expect_refused(
      good, [&](auto& args) { args.x = x.view({8}); },
      "[mvue24] x must have two dimensions, got (8)");
  expect_refused(
      good,
      [&](auto& args) {
        args.y = x.view({2, 4});
      },
      "[mvue24] y must have shape (4, 2), got (2, 4)");
  expect_refused(
      good,
      [&](auto& args) {
        args.mask = x.view({4, 2});
      },
      "[mvue24] mask must be u8, got f32");
  expect_refused(
      good, [&](auto& args) { args.mask = mask.view({8}); },
      "[mvue24] mask must have shape (4, 2), got (8)");
  expect_refused(
      good, [](auto& args) { args.stream = 1u << 24; },
      "[mvue24] stream must be below 2^24, got 16777216");
  const auto pretended = [&](Shape shape) {  // never read
    return View(x.view({8}).bytes(), DType::kF32, shape);
  };
  expect_refused(
      good,
      [&](auto& args) {
        args.x = args.y = pretended({(std::int64_t{1} << 36) + 1, 1});
        args.mask = {};
      },
      "[mvue24] x must have at most 2^36 tokens, got 68719476737");
  expect_refused(
      good,
      [&](auto& args) {
        args.x = args.y = pretended({1, (std::int64_t{1} << 32) + 1});
        args.mask = {};
      },
      "[mvue24] x must have at most 2^32 channels, got 4294967297");
}

}  // namespace
}  // namespace twill
