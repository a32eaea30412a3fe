// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/packed_matrix.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/checks.h"
#include "ops/products/packed_problem.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

// A NaN keeps its payload as well: all bits count, which Values cannot show.
std::vector<std::uint32_t> bits_of(const Buffer& buffer, std::int64_t count) {
  std::vector<std::uint32_t> bits(index(count));
  if (count > 0) std::memcpy(bits.data(), buffer.view({count}).bytes(), bits.size() * 4);
  return bits;
}

// What is packed comes back where it is kept, and +0 elsewhere.
testing::AssertionResult expect_unpacked(const Setup& setup, const PackedOn& packed,
                                         const PackedOperand& operand) {
  const std::int64_t R = operand.rows(), C = operand.cols();
  const Buffer source = setup.buffer(operand.dense), dense = setup.buffer(rubbish(R * C));
  unpack_matrix(*setup.context(), {.packed = packed.matrix(), .dense = dense.view({R, C})});
  const auto got = bits_of(dense, R * C), want = bits_of(source, R * C);
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t c = 0; c < C; ++c) {
      const std::uint32_t owed = operand.is_kept(r, c) ? want[operand.at(r, c)] : 0;
      if (got[operand.at(r, c)] != owed)
        return testing::AssertionFailure()
               << fmt::format("({}, {}) of {} x {}, {} kept, transpose {}: {:#x}, want {:#x}", r, c,
                              R, C, operand.kept(), operand.transpose, got[operand.at(r, c)], owed);
    }
  return testing::AssertionSuccess();
}

testing::AssertionResult check_round_trip(const Setup& setup, const PackedOperand& operand) {
  return expect_unpacked(setup, PackedOn(setup, operand), operand);
}

// Numbers of every sort, NaN with payloads among them.
Values awkward_bits(Random& random, std::int64_t count) {
  Values values = awkward_values(random, count);
  const Values picks = random.integers(count, 0, 15);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (picks[i] == 0.0) values[i] = std::bit_cast<float>(0x7FD2'3456u);
    if (picks[i] == 1.0) values[i] = std::bit_cast<float>(0xFFC0'0001u);
  }
  return values;
}

// The mask is absent where the operand's own zeros say what is kept.
PackedOperand without_mask(PackedOperand operand) {
  for (std::size_t i = 0; i < operand.dense.size(); ++i)
    if (operand.mask[i] == 0.0) operand.dense[i] = i % 2 == 0 ? 0.0 : -0.0;
  operand.mask.clear();
  return operand;
}

constexpr Shape kShapes[] = {{0, 8},    {8, 0},    {0, 0},    {1, 1},    {1, 700}, {300, 1},
                             {4, 4},    {15, 17},  {16, 16},  {17, 65},  {20, 36}, {64, 96},
                             {65, 64},  {97, 95},  {33, 63},  {3, 513},  {7, 700}, {16, 97},
                             {100, 12}, {52, 300}, {257, 20}, {516, 150}};

}  // namespace

// All kinds of masks, values of every sort, both orientations; with a mask, the same mask and none.
testing::AssertionResult check_pack_matrix(const Setup& setup) {
  Random random;
  for (const Shape& shape : kShapes) {
    for (const MaskKind kind : kMaskKinds) {
      PackedOperand operand = random_operand(random, kind, shape[0], shape[1], 0.3);
      operand.dense = awkward_bits(random, operand.rows() * operand.cols());
      for (const bool transpose : {false, true}) {
        operand.transpose = transpose;
        PackedOn packed(setup, operand);
        if (auto result = expect_unpacked(setup, packed, operand); !result) return result;
        operand.dense = awkward_bits(random, operand.rows() * operand.cols());
        packed.pack(operand, /*same_mask=*/true);
        if (auto result = expect_unpacked(setup, packed, operand); !result)
          return result << ", the same mask";
        PackedOperand bare = without_mask(operand);
        if (is_transposable(kind))  // zeros among the kept would make another pattern
          for (std::size_t i = 0; i < bare.dense.size(); ++i)
            if (operand.mask[i] != 0.0 && bare.dense[i] == 0.0) bare.dense[i] = 3.0;
        if (auto result = check_round_trip(setup, bare); !result) return result << ", no mask";
      }
    }
  }
  return testing::AssertionSuccess();
}

namespace {

class PackMatrix : public TableTest {};

TEST_P(PackMatrix, RoundTripIsExact) { EXPECT_TRUE(check_pack_matrix(GetParam())); }

// `max_kept` entries and no more, wherever they are: whatever rounds rows, blocks or chunks of
// columns up must have room.
TEST_P(PackMatrix, HasRoomForMaxKept) {
  Random random;
  const auto keeps = [](std::int64_t R, std::int64_t C, const auto& rule) {
    PackedOperand operand{.shape = {.rows = R, .cols = C}, .dense = {}, .mask = {}};
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t c = 0; c < C; ++c) operand.mask.push_back(rule(r, c) ? 1.0 : 0.0);
    return operand;
  };
  for (const Shape& shape : {Shape{16, 700}, Shape{97, 130}, Shape{300, 33}, Shape{5, 5}}) {
    const std::int64_t R = shape[0], C = shape[1];
    const PackedOperand masks[] = {
        keeps(R, C, [](auto, auto) { return false; }),
        keeps(R, C, [](auto, auto) { return true; }),
        keeps(R, C, [](auto r, auto) { return r == 0; }),
        keeps(R, C, [&](auto r, auto) { return r == R - 1; }),
        keeps(R, C, [](auto r, auto) { return r % 16 == 3; }),
        keeps(R, C, [](auto, auto c) { return c == 0; }),
        keeps(R, C, [&](auto, auto c) { return c == C - 1; }),
        keeps(R, C, [](auto, auto c) { return c % 64 == 63; }),
        keeps(R, C, [](auto r, auto c) { return r == c; }),
        keeps(R, C, [](auto r, auto c) { return r == 0 && c == 0; }),
        keeps(R, C, [&](auto r, auto c) { return r == R - 1 && c == C - 1; }),
        keeps(R, C, [](auto r, auto c) { return c <= r; })};
    for (PackedOperand operand : masks) {
      operand.dense = random.normal(R * C);
      operand.shape.max_kept = operand.kept();
      EXPECT_TRUE(check_round_trip(GetParam(), operand)) << "not one to spare";
      operand.shape.max_kept = R * C;
      EXPECT_TRUE(check_round_trip(GetParam(), operand)) << "room to spare";
    }
  }
}

// Who reserves for a kAny of half of the entries can hold a transposable form as well.
TEST_P(PackMatrix, ATransposableFormIsNotLarger) {
  const auto context = GetParam().context();
  for (const Shape& shape : {Shape{4, 4}, Shape{20, 36}, Shape{256, 1024}, Shape{1024, 256}}) {
    PackedShape any{.rows = shape[0], .cols = shape[1], .max_kept = shape.num_elements() / 2};
    PackedShape transposable = any;
    transposable.pattern = PackedPattern::kTransposable24;
    EXPECT_LE(packed_bytes(*context, transposable), packed_bytes(*context, any));
    EXPECT_GT(packed_bytes(*context, transposable), 0);
  }
}

TEST_P(PackMatrix, AnyByteButZeroIsKept) {
  Random random;
  for (const MaskKind kind : kMaskKinds) {
    for (const bool transpose : {false, true}) {
      PackedOperand operand = random_operand(random, kind, 36, 100, 0.3);
      operand.transpose = transpose;
      constexpr double kBytes[] = {1, 2, 16, 128, 254, 255};
      for (std::size_t i = 0; i < operand.mask.size(); ++i)
        if (operand.mask[i] != 0.0) operand.mask[i] = kBytes[i % 6];
      EXPECT_TRUE(check_round_trip(GetParam(), operand));
    }
  }
}

// Only values change; those that become 0 stay kept, which products show.
TEST_P(PackMatrix, TakesNewValuesUnderTheSameMask) {
  Random random;
  for (const Shape& shape : {Shape{36, 300}, Shape{97, 65}, Shape{16, 700}}) {
    for (const MaskKind kind : kMaskKinds) {
      for (const bool transpose : {false, true}) {
        PackedOperand operand = random_operand(random, kind, shape[0], shape[1], 0.3);
        operand.transpose = transpose;
        PackedOn packed(GetParam(), operand);
        for (int step = 0; step < 3; ++step) {
          operand.dense = awkward_bits(random, operand.rows() * operand.cols());
          packed.pack(operand, /*same_mask=*/true);
          EXPECT_TRUE(expect_unpacked(GetParam(), packed, operand)) << "step " << step;
        }
        operand.dense = random.integers(operand.rows() * operand.cols(), 1, 9);
        operand = without_mask(operand);
        for (const bool same_mask : {false, true}) {
          for (double& value : operand.dense) value *= -2.0;
          packed.pack(operand, same_mask);
          EXPECT_TRUE(expect_unpacked(GetParam(), packed, operand)) << "no mask";
        }
      }
    }
  }
}

// Nothing is left of what the storage held: fuller and emptier rows, the other pattern.
TEST_P(PackMatrix, PacksOverAnOlderMatrix) {
  Random random;
  const std::int64_t R = 36, C = 300;
  PackedOperand any = random_operand(random, MaskKind::kDensity, R, C, 1.0);
  PackedOn packed(GetParam(), any);
  for (const MaskKind kind : {MaskKind::kUneven, MaskKind::kTransposable, MaskKind::kRow24,
                              MaskKind::kTransposableTurned, MaskKind::kUneven}) {
    PackedOperand operand = random_operand(random, kind, R, C);
    operand.shape.max_kept = R * C;
    packed.pack(operand);
    EXPECT_TRUE(expect_unpacked(GetParam(), packed, operand));
  }
}

TEST_P(PackMatrix, LiteralValues) {
  PackedOperand operand{.shape = {.rows = 2, .cols = 3, .max_kept = 3},
                        .dense = {-0.0, 2.5, NAN, 4.0, -0.0, INFINITY},
                        .mask = {1, 0, 0, 0, 1, 255}};
  const auto unpacked = [&] {
    const PackedOn packed(GetParam(), operand);
    const Buffer dense = GetParam().buffer(rubbish(6));
    unpack_matrix(*GetParam().context(), {.packed = packed.matrix(), .dense = dense.view({2, 3})});
    return dense.values();
  };
  EXPECT_TRUE(expect_same_bits("mask", unpacked(), {-0.0, 0, 0, 0, -0.0, INFINITY}));
  operand.mask.clear();
  operand.shape.max_kept = 4;
  EXPECT_TRUE(expect_same_bits("no mask", unpacked(), {0, 2.5, NAN, 4, 0, INFINITY}));
}

INSTANTIATE_TEST_SUITE_P(Tables, PackMatrix, testing::ValuesIn(setups_under_test()), setup_name);

// In the judge's own type nothing is rounded to f32.
TEST(PackMatrixReference, KeepsF64) {
  const PackedOperand operand{.shape = {.rows = 1, .cols = 3, .max_kept = 3},
                              .dense = {0x1.0000000000001p0, 1e300, -1e-310}};
  const PackedOn packed(oracle(), operand);
  const Buffer dense = oracle().buffer(rubbish(3));
  unpack_matrix(*oracle().context(), {.packed = packed.matrix(), .dense = dense.view({1, 3})});
  EXPECT_EQ(dense.values(), operand.dense);
}

TEST(PackMatrixErrors, NameTheProblem) {
  const Buffer dense(Values(48), DType::kF32), mask(Values(48), DType::kU8);
  const Buffer storage(Values(48 * 9), DType::kU8);
  const PackMatrixArgs good{.dense = dense.view({4, 12}),
                            .mask = mask.view({4, 12}),
                            .shape = {.rows = 4, .cols = 12, .max_kept = 48},
                            .storage = storage.view({48 * 9})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.dense = {}; }, "[pack_matrix] dense is missing");
  expect_refused(
      good, [&](auto& args) { args.dense = dense.view({48}); },
      "[pack_matrix] dense must have two dimensions, got (48)");
  expect_refused(
      good,
      [&](auto& args) {
        args.mask = dense.view({4, 12});
      },
      "[pack_matrix] mask must be u8, got f32");
  expect_refused(
      good,
      [&](auto& args) {
        args.mask = mask.view({12, 4});
      },
      "[pack_matrix] mask must have shape (4, 12), got (12, 4)");
  expect_refused(
      good, [](auto& args) { args.transpose = true; },
      "[pack_matrix] dense must have shape (12, 4), got (4, 12)");
  expect_refused(
      good, [](auto& args) { args.shape.cols = 13; },
      "[pack_matrix] dense must have shape (4, 13), got (4, 12)");
  expect_refused(
      good, [&](auto& args) { args.storage = dense.view({48}); },
      "[pack_matrix] storage must be u8, got f32");
  PackMatrixArgs odd = good;
  odd.shape.pattern = PackedPattern::kTransposable24;
  EXPECT_NO_THROW(validate(odd));
  odd.shape.rows = 8;
  odd.shape.cols = 6;
  odd.dense = dense.view({8, 6});
  odd.mask = mask.view({8, 6});
  expect_error([&] { validate(odd); },
               "[pack_matrix] a transposable 2:4 matrix has rows and columns in multiples of 4, "
               "got 8 x 6");
  const Context reference(reference_table(), 1);
  EXPECT_NO_THROW(pack_matrix(reference, good));
  PackMatrixArgs small = good;
  small.storage = good.storage.slice(0, 48 * 9 - 1);
  expect_error([&] { pack_matrix(reference, small); },
               "[pack_matrix] storage must have 432 bytes, got 431");
}

TEST(PackMatrixErrors, NameTheProblemOfUnpack) {
  const Buffer dense(Values(48), DType::kF32), storage(Values(48 * 9), DType::kU8);
  const UnpackMatrixArgs good{
      .packed = {.shape = {.rows = 4, .cols = 12}, .storage = storage.view({48 * 9})},
      .dense = dense.view({4, 12})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.dense = {}; }, "[unpack_matrix] dense is missing");
  expect_refused(
      good, [&](auto& args) { args.dense = dense.view({48}); },
      "[unpack_matrix] dense must have two dimensions, got (48)");
  expect_refused(
      good, [](auto& args) { args.packed.storage = {}; },
      "[unpack_matrix] the packed matrix is missing");
  expect_refused(
      good, [&](auto& args) { args.packed.storage = dense.view({48}); },
      "[unpack_matrix] storage must be u8, got f32");
  expect_refused(
      good, [](auto& args) { args.packed.shape.rows = 5; },
      "[unpack_matrix] the packed matrix must be 4 x 12, got 5 x 12");
}

TEST(PackMatrixErrors, NameABackendWithoutPackedProducts) {
  KernelTable without = reference_table();
  without.packed_bytes = nullptr;
  const Context context(without, 1);
  EXPECT_FALSE(packs_matrices(context));
  EXPECT_TRUE(packs_matrices(Context(reference_table(), 1)));
  EXPECT_TRUE(packs_matrices(Context(cpu_table(), 1)));
  EXPECT_FALSE(packs_any_mask(context));
  EXPECT_TRUE(packs_any_mask(Context(reference_table(), 1)));
  EXPECT_TRUE(packs_any_mask(Context(cpu_table(), 1)));
  expect_error([&] { static_cast<void>(packed_bytes(context, {})); },
               "[packed_bytes] the reference backend has no packed products");
}

}  // namespace
}  // namespace twill
