// SPDX-License-Identifier: Apache-2.0
// Packed 2:4 matrices in bf16: what is packed comes back, and samples are those of ops/selection/mvue24.h.
#include <bit>
#include <cmath>

#include "ops/packing/pack_sample.h"
#include "ops/products/packed24_problem.h"
#include "ops/selection/mvue24.h"
#include "support/expect_error.h"

namespace twill {
namespace {

class Packed24 : public Packed24Test {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Packed24);

Values masked(Values values, const Values& mask) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (mask[i] == 0.0) values[i] = 0.0;
  return values;
}

// From f32 masters, then new values under the same mask from bf16, then without a mask.
testing::AssertionResult check_round_trip(const Setup& setup, const PackedShape& shape,
                                          Random& random, bool transpose) {
  const std::int64_t R = shape.rows, C = shape.cols;
  const bool both_ways = shape.pattern == PackedPattern::kTransposable24;
  const Values masters = awkward_masters(random, R * C);
  const Values mask =
      selected_mask(both_ways ? MaskKind::kTransposable : MaskKind::kRow24, masters, {R, C});
  Storage24 storage(setup, shape);
  storage.pack(masters, mask, transpose, DType::kF32);
  const Values want = masked(rounded_to_bf16(masters), mask);
  const auto trial = [&](const char* what, const Values& wanted) {
    for (const DType type : {DType::kBf16, DType::kF32})
      if (auto result = expect_same_bits(what, storage.unpacked(type), wanted); !result)
        return result << fmt::format(" for {} x {}, both ways {}, left {}, transpose {}", R, C,
                                     both_ways, shape.side == PackedSide::kLeft, transpose);
    return testing::AssertionSuccess();
  };
  if (auto result = trial("masters", want); !result) return result;
  const Values others = rounded_to_bf16(awkward_masters(random, R * C));
  storage.pack(others, mask, transpose, DType::kBf16, /*same_mask=*/true);
  if (auto result = trial("bf16", masked(others, mask)); !result) return result;
  if (both_ways) return testing::AssertionSuccess();  // a zero among the kept breaks the pattern
  Values bare = masked(masters, mask);
  for (std::size_t i = 0; i < bare.size(); i += 3)
    if (mask[i] == 0.0) bare[i] = -0.0;
  storage.pack(bare, {}, transpose, DType::kF32);
  Values left = rounded_to_bf16(bare);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (bare[i] == 0.0) left[i] = 0.0;  // not kept: +0
  return trial("no mask", left);
}

constexpr std::int64_t kRowCounts[] = {8, 16, 24, 40, 64, 72, 136, 200};

testing::AssertionResult check_side(const Setup& setup, PackedSide side,
                                    std::initializer_list<std::int64_t> col_counts) {
  Random random;
  for (const std::int64_t rows : kRowCounts)
    for (const std::int64_t cols : col_counts)
      for (const PackedPattern pattern : {PackedPattern::kTransposable24, PackedPattern::k24})
        for (const bool transpose : {false, true})
          if (auto result =
                  check_round_trip(setup, shape24(rows, cols, side, pattern), random, transpose);
              !result)
            return result;
  return testing::AssertionSuccess();
}

TEST_P(Packed24, RoundTripIsExactOnTheRight) {
  EXPECT_TRUE(check_side(GetParam(), PackedSide::kRight, {16, 48, 64, 80, 128, 208}));
}

TEST_P(Packed24, RoundTripIsExactOnTheLeft) {
  EXPECT_TRUE(check_side(GetParam(), PackedSide::kLeft, {4, 12, 16, 36, 64, 68, 132}));
}

// A layer of GPT-2 XL and both its orientations. One of the 90 patterns for every 4 x 4 block.
TEST_P(Packed24, RoundTripIsExactOnALayer) {
  Random random;
  const std::int64_t R = 1600, C = 6400;
  const auto& patterns = transposable_patterns();
  const Values picks = random.integers(R * C / 16, 0, 89);
  const Values weight = repeated(unrounded(random, 4099), R * C);
  Values mask(index(R * C));
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t c = 0; c < C; ++c) {
      const auto pick = static_cast<std::size_t>(picks[index(r / 4 * (C / 4) + c / 4)]);
      const unsigned pattern = patterns[pick];
      mask[index(r * C + c)] = pattern >> (15 - (r % 4 * 4 + c % 4)) & 1u ? 1.0 : 0.0;
    }
  const Values want = masked(rounded_to_bf16(weight), mask);
  constexpr auto kBothWays = PackedPattern::kTransposable24;
  Storage24 forward(GetParam(), shape24(R, C, PackedSide::kRight, kBothWays));
  forward.pack(weight, mask, /*transpose=*/false, DType::kF32);
  EXPECT_TRUE(expect_same_bits("W", forward.unpacked(), want));
  Storage24 backward(GetParam(), shape24(C, R, PackedSide::kRight, kBothWays));
  backward.pack(transposed(weight, R, C), transposed(mask, R, C), /*transpose=*/true, DType::kF32);
  EXPECT_TRUE(expect_same_bits("W transposed", backward.unpacked(), transposed(want, R, C)));
}

TEST_P(Packed24, PackingTwiceGivesTheSameBytes) {
  Random random;
  for (const PackedSide side : {PackedSide::kRight, PackedSide::kLeft}) {
    const Values dense = random.normal(136 * 80), mask = random_mask24(random, 136, 80);
    Storage24 one(GetParam(), shape24(136, 80, side)), two(GetParam(), shape24(136, 80, side));
    one.pack(dense, mask, false, DType::kF32);
    two.pack(dense, mask, false, DType::kF32);
    EXPECT_EQ(one.bytes(), two.bytes());
    EXPECT_NE(one.bytes(), Values(one.bytes().size(), 165.0));
  }
}

// By ops/packing/packed_matrix.h.
TEST_P(Packed24, PacksWhatTheHeaderSays) {
  const auto bytes = [&](PackedShape shape) { return packed_bytes(*GetParam().context(), shape); };
  for (const PackedPattern pattern : {PackedPattern::kTransposable24, PackedPattern::k24})
    for (std::int64_t rows = 4; rows <= 48; rows += 4)
      for (std::int64_t cols = 4; cols <= 96; cols += 4) {
        const PackedShape right = shape24(rows, cols, PackedSide::kRight, pattern);
        const PackedShape left = shape24(rows, cols, PackedSide::kLeft, pattern);
        EXPECT_EQ(bytes(right) > 0, rows % 8 == 0 && cols % 16 == 0) << rows << " x " << cols;
        EXPECT_EQ(bytes(left) > 0, rows % 8 == 0) << rows << " x " << cols;
        // Half of the values, and four bits for four entries.
        if (rows % 8 != 0) continue;
        EXPECT_GE(bytes(left), rows * cols + rows * cols / 8) << rows << " x " << cols;
      }
  for (const PackedSide side : {PackedSide::kRight, PackedSide::kLeft}) {
    PackedShape any = shape24(64, 64, side, PackedPattern::kAny), f32 = shape24(64, 64, side);
    any.max_kept = 64 * 64;
    f32.type = DType::kF32;
    EXPECT_EQ(bytes(any), 0);
    EXPECT_EQ(bytes(f32), 0);
    EXPECT_LT(bytes(shape24(1600, 6400, side)), 1600 * 6400 * 12 / 10);  // dense: 2 B
  }
  for (const std::int64_t cols : {1, 2, 3, 65}) {
    EXPECT_EQ(bytes(shape24(8, cols)), 0) << cols;
    EXPECT_GT(bytes(shape24(8, cols, PackedSide::kLeft)), 0) << cols;
  }
  const Buffer dense = GetParam().buffer(Values(12 * 16), DType::kF32);
  const Buffer storage = GetParam().buffer(Values(4096), DType::kU8);
  expect_error(
      [&] {
        pack_matrix(*GetParam().context(), {.dense = dense.view({12, 16}),
                                            .shape = shape24(12, 16),
                                            .storage = storage.view({4096})});
      },
      "backend does not pack a matrix of 12 x 16 like this");
}

struct SampleProblem {
  Values x;
  std::int64_t tokens, channels;
  std::uint32_t step = 7;
  bool step_in_memory = false;
  MvueLaw law = MvueLaw::kExact;
  std::uint64_t seed = 42;
  std::uint32_t stream = 3;

  // P = sampleᵀ.
  void pack(const Setup& setup, const Storage24& storage) const {
    const Shape shape{tokens, channels};
    const Buffer x_in = setup.buffer(x), scratch = setup.buffer(rubbish(tokens * channels));
    const double bits = std::bit_cast<std::int32_t>(step);
    const Buffer step_in = setup.buffer(step_in_memory ? Values{bits} : Values(), DType::kI32);
    pack_sample(*setup.context(), {.x = x_in.view(shape),
                                   .sample = scratch.view(shape),
                                   .shape = storage.shape(),
                                   .storage = storage.view(),
                                   .law = law,
                                   .seed = seed,
                                   .step = step_in_memory ? ~step : step,
                                   .step_at = optional_view(step_in, {1}),
                                   .stream = stream});
    wait(*setup.context());  // the operands go
  }

  // The reference's sample of the same numbers, rounded as the header says.
  Values sample() const {
    const Setup reference = exact_oracle();
    const Shape shape{tokens, channels};
    const Buffer x_in = reference.buffer(x), y = reference.buffer(rubbish(tokens * channels));
    mvue24(*reference.context(), {.x = x_in.view(shape),
                                  .y = y.view(shape),
                                  .law = law,
                                  .seed = seed,
                                  .step = step,
                                  .stream = stream});
    return rounded_to_bf16(y.values());
  }
};

// Whether a zero that was drawn is stored, and so whether it keeps its sign, is free.
Values without_signs_of_zeros(Values values) {
  for (double& value : values) value += 0.0;
  return values;
}

testing::AssertionResult check_sample(const Setup& setup, const SampleProblem& problem) {
  const std::int64_t T = problem.tokens, C = problem.channels;
  const Storage24 storage(setup, shape24(C, T, PackedSide::kLeft));
  problem.pack(setup, storage);
  const Values got = without_signs_of_zeros(transposed(storage.unpacked(), C, T));
  return expect_same_bits("sample", got, without_signs_of_zeros(problem.sample()))
         << fmt::format(" for {} tokens, {} channels, step {}, in memory {}, law {}", T, C,
                        problem.step, problem.step_in_memory, static_cast<int>(problem.law));
}

// Ties, zeros of both signs, denormals, sums that overflow, NaN and Inf.
TEST_P(Packed24, SamplesAreThoseOfMvue24) {
  Random random;
  std::uint32_t step = 0;
  for (const std::int64_t T : {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 66, 130, 201})
    for (const std::int64_t C : {8, 16, 56, 64, 72, 136}) {
      SampleProblem problem{.x = random.normal(T * C), .tokens = T, .channels = C};
      problem.step = step += 0x9e37'79b9u;  // every other one with its highest bit
      problem.step_in_memory = step % 2 == 1;
      ASSERT_TRUE(check_sample(GetParam(), problem));
      problem.x = drawn(awkward_values(random, T * C));
      problem.step_in_memory = !problem.step_in_memory;
      problem.seed = 0xfedc'ba98'7654'3210u;
      problem.stream = (1u << 24) - 1;
      ASSERT_TRUE(check_sample(GetParam(), problem));
    }
  SampleProblem two_draw{.x = random.normal(67 * 72), .tokens = 67, .channels = 72};
  two_draw.law = MvueLaw::kTwoDraw;
  EXPECT_TRUE(check_sample(GetParam(), two_draw));
}

// 2.7 million groups.
TEST_P(Packed24, ManySamplesAreThoseOfMvue24) {
  Random random;
  const Values pool = random.normal(65537);
  for (const Shape& shape : {Shape{4099, 1032}, Shape{1637, 2056}, Shape{773, 4104}}) {
    SampleProblem problem{
        .x = repeated(pool, shape.num_elements()), .tokens = shape[0], .channels = shape[1]};
    problem.step_in_memory = shape[0] == 1637;
    EXPECT_TRUE(check_sample(GetParam(), problem));
  }
}

TEST_P(Packed24, SamplingTwiceGivesTheSameBytes) {
  Random random;
  SampleProblem problem{.x = random.normal(201 * 136), .tokens = 201, .channels = 136};
  const PackedShape shape = shape24(136, 201, PackedSide::kLeft);
  const Storage24 one(GetParam(), shape), two(GetParam(), shape), other(GetParam(), shape);
  problem.pack(GetParam(), one);
  problem.pack(GetParam(), two);
  problem.step += 1;
  problem.pack(GetParam(), other);
  EXPECT_EQ(one.bytes(), two.bytes());
  EXPECT_NE(one.bytes(), other.bytes());
}

TEST(Packed24Devices, AmpereAndWhatFollowsPacks) {
  if (cuda_table() == nullptr) GTEST_SKIP() << "no cuda backend in this build";
  for (const int generation : {0, 70, 75, 80, 86, 89, 90, 100, 120})
    EXPECT_EQ(cuda_table()->packed_bytes(shape24(64, 64), {.generation = generation}) > 0,
              generation >= 80)
        << generation;
}

INSTANTIATE_TEST_SUITE_P(Tables, Packed24, testing::ValuesIn(setups_that_pack_bf16()), setup_name);

}  // namespace
}  // namespace twill
