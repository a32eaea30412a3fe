// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/fp8.h"

#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct Fp8Problem {
  Values x;
  Fp8Format format = Fp8Format::kE4m3;
  bool in_place = false;

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(x.size())};
    const Buffer x_in = setup.buffer(x), own = setup.buffer(rubbish(shape[0]));
    const Buffer& y = in_place ? x_in : own;
    fp8_round(*setup.context(), {.x = x_in.view(shape), .y = y.view(shape), .format = format});
    return {{"y", y.values(), y.dtype()}};
  }
};

constexpr Fp8Format kFormats[] = {Fp8Format::kE4m3, Fp8Format::kE5m2};

}  // namespace

testing::AssertionResult check_fp8_round(const Setup& setup) {
  Random random;
  for (const std::int64_t count : {0, 1, 3, 8, 17, 65, 1027, 40'003})
    for (const Fp8Format format : kFormats)
      for (const double spread : {1.0, 1e-30, 1e30, 1e-44})
        for (const bool in_place : {false, true}) {
          Fp8Problem problem{random.normal(count, spread), format, in_place};
          const Values power = random.integers(count, 0, 40);  // many fall below the format
          for (std::size_t i = 0; i < problem.x.size(); ++i)
            problem.x[i] = std::ldexp(problem.x[i], -static_cast<int>(power[i]));
          problem.x = drawn(problem.x);
          if (auto result = judge_exact(setup, problem); !result)
            return result << fmt::format(" for {} elements, spread {}", count, spread);
        }
  return testing::AssertionSuccess();
}

namespace {

class Fp8Round : public TableTest {};

TEST_P(Fp8Round, IsExact) { EXPECT_TRUE(check_fp8_round(GetParam())); }

// amax = max, so the scale is 1 and half-way cases stay half-way.
TEST_P(Fp8Round, TiesGoToEven) {
  Fp8Problem problem{{448, 17, 19, -17, 1.0625, 1.1875, 0x1p-10, 0x1.8p-9, -0x1p-10, 0x1.02p-10}};
  EXPECT_TRUE(expect_same_bits("e4m3", problem.run(GetParam())[0].values,
                               Values{448, 16, 20, -16, 1.0, 1.25, 0, 0x1p-8, -0.0, 0x1p-9}));
  problem = {{57344, 9, 11, 0x1p-17, 0x1.8p-16}, Fp8Format::kE5m2};
  EXPECT_EQ(problem.run(GetParam())[0].values, (Values{57344, 8, 12, 0, 0x1p-15}));
}

TEST_P(Fp8Round, CopiesWhatIsNotFinite) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {kInf, -kInf, kNan}) {
    Values x = drawn(Values(21, 0.3f));
    x[13] = bad;
    const Fp8Problem problem{x};
    EXPECT_TRUE(expect_same_bits("y", problem.run(GetParam())[0].values, x));
  }
}

TEST_P(Fp8Round, KnowsZerosAndTinyNumbers) {
  for (const Fp8Format format : kFormats) {
    EXPECT_TRUE(judge_exact(GetParam(), Fp8Problem{Values{0.0, -0.0, 0.0}, format}));
    EXPECT_EQ((Fp8Problem{Values(5), format}.run(GetParam())[0].values), Values(5));
    EXPECT_TRUE(
        judge_exact(GetParam(), Fp8Problem{drawn({0x1p-149, -0x1p-140, 0x1p-133}), format}));
    EXPECT_TRUE(
        judge_exact(GetParam(), Fp8Problem{drawn({0x1.fffffep127, -0x1p127, 1.0}), format}));
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Fp8Round, testing::ValuesIn(setups_with_device()), setup_name);

TEST(Fp8RoundErrors, NameTheProblem) {
  const Buffer x(Values(6), DType::kF32);
  const Fp8RoundArgs good{.x = x.view({2, 3}), .y = x.view({2, 3})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.y = {}; }, "[fp8_round] y is missing");
  expect_refused(
      good, [&](auto& args) { args.y = x.view({6}); },
      "[fp8_round] y must have shape (2, 3), got (6)");
  const Buffer narrow(Values(6), DType::kBf16);
  const Fp8RoundArgs operand{.x = narrow.view({2, 3}), .y = narrow.view({2, 3})};
  EXPECT_NO_THROW(validate(operand));
  expect_refused(
      operand,
      [&](auto& args) {
        args.y = x.view({2, 3});
      },
      "[fp8_round] y must be bf16 like x, got f32");
  expect_error([&] { fp8_round(Context(cpu_table(), 1), operand); },
               "[fp8_round] the cpu backend computes in f32 and got bf16");
}

}  // namespace
}  // namespace twill
