// SPDX-License-Identifier: Apache-2.0
// Both sides of a packed matrix: each is what pack_matrix makes of it.
#include "ops/packing/pack_both.h"

#include <deque>
#include <memory>

#include "ops/checks.h"
#include "ops/products/packed24_problem.h"
#include "support/expect_error.h"

namespace twill {
namespace {

PackedShape turned(PackedShape shape) {
  std::swap(shape.rows, shape.cols);
  return shape;
}

// W with its mask, and the storages of both sides on a setup: rubbish at first, not a byte to spare.
class BothSides {
 public:
  BothSides(const Setup& setup, const PackedShape& shape)
      : setup_(setup), shape_(shape), plain_(storage(shape)), turned_(storage(turned(shape))) {}

  void pack(const Values& dense, const Values& mask, DType type, bool same_mask = false) {
    const Buffer dense_in = setup_.buffer(dense, type), mask_in = setup_.buffer(mask, DType::kU8);
    pack_both(*setup_.context(), call(dense_in, mask_in, same_mask));
    wait(*setup_.context());  // the operands go
  }
  PackBothArgs call(const Buffer& dense, const Buffer& mask, bool same_mask) const {
    const Shape shape{shape_.rows, shape_.cols};
    return {.dense = dense.view(shape),
            .mask = optional_view(mask, shape),
            .shape = shape_,
            .storage = view(false),
            .shape_transposed = turned(shape_),
            .storage_transposed = view(true),
            .same_mask = same_mask};
  }

  // One side, in its own orientation.
  Values unpacked(bool transpose, DType type) const {
    const PackedShape shape = transpose ? turned(shape_) : shape_;
    const Buffer dense = setup_.buffer(rubbish(shape.rows * shape.cols), type);
    unpack_matrix(*setup_.context(), {.packed = {shape, view(transpose)},
                                      .dense = dense.view({shape.rows, shape.cols})});
    return dense.values();
  }
  Values bytes(bool transpose) const { return (transpose ? turned_ : plain_).values(); }

 private:
  Buffer storage(const PackedShape& shape) const {
    return Buffer(Values(index(packed_bytes(*setup_.context(), shape)), 165.0), DType::kU8, 0,
                  setup_.table->copy_in != nullptr ? setup_.context() : nullptr);
  }
  View view(bool transpose) const {
    const PackedShape shape = transpose ? turned(shape_) : shape_;
    return (transpose ? turned_ : plain_).view({packed_bytes(*setup_.context(), shape)});
  }

  Setup setup_;
  PackedShape shape_;
  Buffer plain_, turned_;
};

Values kept_of(Values values, const Values& mask) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (mask[i] == 0.0) values[i] = 0.0;
  return values;
}

testing::AssertionResult expect_both(const char* what, const BothSides& sides, DType type,
                                     const Values& want, const Shape& shape) {
  const std::int64_t R = shape[0], C = shape[1];
  for (const bool transpose : {false, true})
    if (auto result = expect_same_bits(what, sides.unpacked(transpose, type),
                                       transpose ? transposed(want, R, C) : want);
        !result)
      return result << fmt::format(" for {} x {}, transposed {}", R, C, transpose);
  return testing::AssertionSuccess();
}

// Random patterns of two by two in every 4 x 4 block.
Values transposable_mask(Random& random, std::int64_t rows, std::int64_t cols) {
  const auto& patterns = transposable_patterns();
  const Values picks = random.integers(rows * cols / 16, 0, 89);
  Values mask(index(rows * cols));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      const unsigned pattern =
          patterns[static_cast<std::size_t>(picks[index(r / 4 * (cols / 4) + c / 4)])];
      mask[index(r * cols + c)] = pattern >> (15 - (r % 4 * 4 + c % 4)) & 1u ? 1.0 : 0.0;
    }
  return mask;
}

// Some matrices and their storages, packed by one call.
class Together {
 public:
  explicit Together(const Setup& setup) : setup_(setup) {}

  void add(BothSides& sides, const Values& dense, const Values& mask, DType type, bool same_mask) {
    operands_.emplace_back(
        new Operands{setup_.buffer(dense, type), setup_.buffer(mask, DType::kU8)});
    calls_.push_back(sides.call(operands_.back()->dense, operands_.back()->mask, same_mask));
  }
  void pack() const {
    pack_weights(*setup_.context(), {.weights = calls_});
    wait(*setup_.context());
  }

 private:
  struct Operands {
    Buffer dense, mask;
  };
  Setup setup_;
  std::vector<std::unique_ptr<Operands>> operands_;
  std::vector<PackBothArgs> calls_;
};

// At most two of four both ways: what a greedy choice may leave.
Values thinned(Random& random, Values mask) {
  const Values picks = random.integers(static_cast<std::int64_t>(mask.size()), 0, 3);
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (picks[i] == 0.0) mask[i] = 0.0;
  return mask;
}

}  // namespace

// f32 values: with a mask, with new values under it, and for every mask where the setup has those. Then
// three of them by one call.
testing::AssertionResult check_pack_both(const Setup& setup) {
  Random random;
  Together together(setup);
  std::deque<BothSides> three;
  std::vector<Values> wanted;
  for (const std::int64_t rows : {8, 16, 4}) {
    const Values mask = transposable_mask(random, rows, 12);
    const Values dense = awkward_values(random, rows * 12);
    together.add(three.emplace_back(setup, PackedShape{.pattern = PackedPattern::kTransposable24,
                                                       .rows = rows,
                                                       .cols = 12,
                                                       .max_kept = rows * 12}),
                 dense, mask, DType::kF32, /*same_mask=*/false);
    wanted.push_back(kept_of(dense, mask));
  }
  together.pack();
  for (std::size_t i = 0; i < three.size(); ++i)
    if (auto result = expect_both("one of three", three[i], DType::kF32, wanted[i],
                                  {static_cast<std::int64_t>(wanted[i].size()) / 12, 12});
        !result)
      return result;
  for (const Shape& shape : {Shape{4, 4}, Shape{16, 16}, Shape{20, 36}, Shape{64, 96},
                             Shape{100, 12}, Shape{132, 68}, Shape{0, 8}})
    for (const bool is_transposable : {true, false}) {
      const std::int64_t size = shape.num_elements();
      const Values mask = is_transposable ? transposable_mask(random, shape[0], shape[1])
                                          : mask_of_density(random, size, 0.3);
      BothSides sides(
          setup, {.pattern = is_transposable ? PackedPattern::kTransposable24 : PackedPattern::kAny,
                  .rows = shape[0],
                  .cols = shape[1],
                  .max_kept = size});
      const Values first = awkward_values(random, size), then = awkward_values(random, size);
      sides.pack(first, mask, DType::kF32);
      if (auto result = expect_both("a new mask", sides, DType::kF32, kept_of(first, mask), shape);
          !result)
        return result;
      sides.pack(then, mask, DType::kF32, /*same_mask=*/true);
      if (auto result =
              expect_both("the same mask", sides, DType::kF32, kept_of(then, mask), shape);
          !result)
        return result;
    }
  return testing::AssertionSuccess();
}

namespace {

class PackBoth : public TableTest {};

TEST_P(PackBoth, PacksBothSidesExactly) { EXPECT_TRUE(check_pack_both(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Tables, PackBoth, testing::ValuesIn(setups_under_test()), setup_name);

TEST(PackBothErrors, NameTheProblem) {
  const Context reference(reference_table(), 1);
  const Buffer dense(Values(48), DType::kF32), mask(Values(48), DType::kU8);
  const Buffer storage(Values(432), DType::kU8), small(Values(431), DType::kU8);
  const PackedShape shape{.rows = 4, .cols = 12, .max_kept = 48};
  const PackBothArgs good{.dense = dense.view({4, 12}),
                          .mask = mask.view({4, 12}),
                          .shape = shape,
                          .storage = storage.view({432}),
                          .shape_transposed = turned(shape),
                          .storage_transposed = storage.view({432})};
  EXPECT_NO_THROW(validate(good));
  PackBothArgs bad = good;
  bad.shape_transposed = shape;
  expect_error([&] { validate(bad); }, "[pack_both] dense must have shape (12, 4), got (4, 12)");
  bad = good;
  bad.mask = mask.view({12, 4});
  expect_error([&] { validate(bad); }, "[pack_both] mask must have shape (4, 12), got (12, 4)");
  bad = good;
  bad.storage_transposed = {};
  expect_error([&] { validate(bad); }, "[pack_both] storage must be u8, got f32");
  bad = good;
  bad.storage_transposed = small.view({431});
  expect_error([&] { pack_both(reference, bad); },
               "[pack_both] storage must have 432 bytes, got 431");
}

class PackBoth24 : public Packed24Test {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PackBoth24);

// Whole tiles of 64 x 64, parts of them at either edge and at both; every 16 x 16 that there is.
constexpr Shape kShapes24[] = {{16, 16},   {16, 64},  {64, 16},   {64, 64},   {48, 80},
                               {80, 48},   {128, 64}, {64, 192},  {112, 176}, {272, 144},
                               {144, 336}, {16, 400}, {1040, 16}, {192, 320}};

Setup off_boundary(Setup setup) {
  setup.offset = 1;
  return setup;
}

// Bits of the values that the header promises, and every byte of what one side after the other gives,
// from operands off a 16-byte boundary: another kernel.
testing::AssertionResult check_both24(const Setup& setup, const Shape& shape, PackedPattern pattern,
                                      DType type, Random& random) {
  const std::int64_t R = shape[0], C = shape[1];
  const Setup aside = off_boundary(setup);
  Values mask = transposable_mask(random, R, C);
  if (pattern == PackedPattern::k24) mask = thinned(random, mask);
  BothSides fused(setup, shape24(R, C, PackedSide::kRight, pattern));
  BothSides apart(aside, shape24(R, C, PackedSide::kRight, pattern));
  for (const bool same_mask : {false, true}) {
    Values dense = awkward_masters(random, R * C);
    if (type == DType::kBf16) dense = rounded_to_bf16(dense);
    fused.pack(dense, mask, type, same_mask);
    apart.pack(dense, mask, type, same_mask);
    const char* what = same_mask ? "the same mask" : "a new mask";
    const Values want = kept_of(rounded_to_bf16(dense), mask);
    if (auto result = expect_both(what, fused, DType::kBf16, want, shape); !result)
      return result << fmt::format(", {}", name_of(type));
    for (const bool transpose : {false, true})
      if (fused.bytes(transpose) != apart.bytes(transpose))
        return testing::AssertionFailure()
               << fmt::format("{} x {} {}, {}, transposed {}: bytes differ", R, C, name_of(type),
                              what, transpose);
  }
  return testing::AssertionSuccess();
}

TEST_P(PackBoth24, IsWhatOneSideAfterTheOtherGives) {
  Random random;
  for (const Shape& shape : kShapes24)
    for (const PackedPattern pattern : {PackedPattern::kTransposable24, PackedPattern::k24})
      for (const DType type : {DType::kF32, DType::kBf16})
        ASSERT_TRUE(check_both24(GetParam(), shape, pattern, type, random));
}

// A layer of GPT-2 XL.
TEST_P(PackBoth24, IsWhatOneSideAfterTheOtherGivesOnALayer) {
  Random random;
  EXPECT_TRUE(
      check_both24(GetParam(), {1600, 6400}, PackedPattern::kTransposable24, DType::kF32, random));
}

// More than a launch takes, of kinds that cannot share one.
TEST_P(PackBoth24, SeveralAreWhatOneAfterTheOtherGives) {
  Random random;
  for (const bool same_mask : {false, true}) {
    std::deque<BothSides> alone, packed;
    Together together(GetParam());
    for (std::size_t i = 0; i < 90; ++i) {
      const Shape& shape = kShapes24[i % std::size(kShapes24)];
      const PackedPattern pattern =
          i % 50 < 40 ? PackedPattern::kTransposable24 : PackedPattern::k24;
      const DType type = i < 70 ? DType::kF32 : DType::kBf16;
      const PackedShape form = shape24(shape[0], shape[1], PackedSide::kRight, pattern);
      const Values mask = transposable_mask(random, shape[0], shape[1]);
      const Values first = rounded_to_bf16(awkward_masters(random, shape.num_elements()));
      const Values then = rounded_to_bf16(awkward_masters(random, shape.num_elements()));
      alone.emplace_back(GetParam(), form);
      packed.emplace_back(GetParam(), form);
      if (same_mask) alone.back().pack(first, mask, type);
      if (same_mask) packed.back().pack(first, mask, type);
      alone.back().pack(then, mask, type, same_mask);
      together.add(packed.back(), then, mask, type, same_mask);
    }
    together.pack();
    for (std::size_t i = 0; i < alone.size(); ++i)
      for (const bool transpose : {false, true})
        ASSERT_EQ(alone[i].bytes(transpose), packed[i].bytes(transpose))
            << "matrix " << i << ", transposed " << transpose << ", same mask " << same_mask;
  }
}

// One side by tiles, and from operands off a 16-byte boundary: every byte, idle positions included.
TEST_P(PackBoth24, OneSideHasTheSameBytesFromAnyAddress) {
  Random random;
  const auto aside = off_boundary(GetParam());
  for (const std::int64_t R : {8, 24, 64, 72, 136, 200})
    for (const std::int64_t C : {16, 48, 64, 80, 208})
      for (const bool transpose : {false, true})
        for (const bool has_mask : {false, true}) {
          const Values mask = random_mask24(random, R, C);
          const Values dense = awkward_masters(random, R * C);
          Storage24 one(GetParam(), shape24(R, C)), other(aside, shape24(R, C));
          one.pack(has_mask ? dense : kept_of(dense, mask), has_mask ? mask : Values(), transpose,
                   DType::kF32);
          other.pack(has_mask ? dense : kept_of(dense, mask), has_mask ? mask : Values(), transpose,
                     DType::kF32);
          ASSERT_EQ(one.bytes(), other.bytes())
              << R << " x " << C << ", transpose " << transpose << ", mask " << has_mask;
        }
}

INSTANTIATE_TEST_SUITE_P(Tables, PackBoth24, testing::ValuesIn(setups_that_pack_bf16()),
                         setup_name);

}  // namespace
}  // namespace twill
