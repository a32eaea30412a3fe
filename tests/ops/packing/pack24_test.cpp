// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/pack24.h"

#include <cmath>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "support/sparse_data.h"

namespace twill {
namespace {

// (R, C) is the shape of the packed matrix.
struct PackShape {
  std::int64_t R, C;
  bool transpose = false;

  Shape dense() const { return transpose ? Shape{C, R} : Shape{R, C}; }
  Shape values() const { return {R, C / 2}; }
  Shape nibbles() const { return {R, (C + 7) / 8}; }
};

struct Pack24Problem {
  PackShape shape;
  Values dense, mask;
  bool from_master = false;  // dense in the wide type

  Outputs run(const Setup& setup) const {
    const Buffer dense_in = from_master ? setup.wide(dense) : setup.buffer(dense);
    const Buffer mask_in = setup.buffer(mask, DType::kU8);
    const Buffer values = setup.buffer(rubbish(shape.values().num_elements()));
    const Buffer nibbles = setup.buffer(mask_rubbish(shape.nibbles().num_elements()), DType::kU8);
    pack24(*setup.context(), {.dense = dense_in.view(shape.dense()),
                              .mask = mask_in.view(shape.dense()),
                              .values = values.view(shape.values()),
                              .nibbles = nibbles.view(shape.nibbles()),
                              .transpose = shape.transpose});
    return {{"values", values.values(), values.dtype()}, {"nibbles", nibbles.values()}};
  }
};

struct Unpack24Problem {
  PackShape shape;
  Values values, nibbles;

  Outputs run(const Setup& setup) const {
    const Buffer values_in = setup.buffer(values);
    const Buffer nibbles_in = setup.buffer(nibbles, DType::kU8);
    const Buffer dense = setup.buffer(rubbish(shape.dense().num_elements()));
    unpack24(*setup.context(), {.values = values_in.view(shape.values()),
                                .nibbles = nibbles_in.view(shape.nibbles()),
                                .dense = dense.view(shape.dense()),
                                .transpose = shape.transpose});
    return {{"dense", dense.values(), dense.dtype()}};
  }
};

// Masks of any number of entries per group.
Pack24Problem random_problem(Random& random, const PackShape& shape) {
  const std::int64_t count = shape.R * shape.C;
  return {shape, drawn(awkward_values(random, count)), random_mask(random, count)};
}

template <class Check>
testing::AssertionResult for_all_shapes(const Check& check) {
  for (const bool transpose : {false, true}) {
    for (const PackShape shape : {PackShape{0, 8}, PackShape{3, 0}, PackShape{1, 4},
                                  PackShape{3, 12}, PackShape{65, 20}, PackShape{130, 260}})
      if (auto result = check(PackShape{shape.R, shape.C, transpose}); !result)
        return result << fmt::format(" for ({}, {}), transpose {}", shape.R, shape.C, transpose);
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult check_pack24(const Setup& setup) {
  Random random;
  return for_all_shapes([&](const PackShape& shape) {
    Pack24Problem problem = random_problem(random, shape);
    if (auto result = judge_exact(setup, problem); !result) return result;
    problem.from_master = true;
    problem.dense = unrounded(random, shape.R * shape.C);
    return judge_exact(setup, problem) << " from a master weight";
  });
}

testing::AssertionResult check_unpack24(const Setup& setup) {
  Random random;
  return for_all_shapes([&](const PackShape& shape) {
    const Outputs packed = random_problem(random, shape).run(exact_oracle());
    return judge_exact(setup, Unpack24Problem{shape, packed[0].values, packed[1].values});
  });
}

namespace {

class Pack24 : public TableTest {};

TEST_P(Pack24, IsExact) { EXPECT_TRUE(check_pack24(GetParam())); }
TEST_P(Pack24, UnpackIsExact) { EXPECT_TRUE(check_unpack24(GetParam())); }

TEST_P(Pack24, FillsGroupsThatAreShort) {
  const Pack24Problem problem{
      {1, 20},
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
      {0, 0, 0, 0, /**/ 1, 0, 0, 0, /**/ 0, 0, 1, 0, /**/ 1, 1, 1, 1, /**/ 0, 1, 0, 1}};
  const Outputs packed = problem.run(GetParam());
  EXPECT_EQ(packed[0].values, (Values{0, 0, 5, 0, 0, 11, 13, 14, 18, 20}));
  EXPECT_EQ(packed[1].values, (Values{0x44, 0x48, 0x0D}));
}

// Any byte but 0 is set: 128 has no bit but the highest, 254 all but the lowest.
TEST_P(Pack24, AnyByteButZeroIsSet) {
  for (const bool transpose : {false, true}) {
    Pack24Problem problem{{2, 8, transpose}, Values(16), Values(16)};
    constexpr double kBytes[] = {2, 0, 255, 0, 0, 128, 0, 254, 0, 0, 3, 16, 255, 255, 2, 2};
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t at = transpose ? i % 8 * 2 + i / 8 : i;
      problem.dense[at] = static_cast<double>(i + 1);
      problem.mask[at] = kBytes[i];
    }
    const Outputs packed = problem.run(GetParam());
    EXPECT_EQ(packed[0].values, (Values{1, 3, 6, 8, 11, 12, 13, 14})) << transpose;
    EXPECT_EQ(packed[1].values, (Values{0xD8, 0x4E})) << transpose;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Pack24, testing::ValuesIn(setups_with_device()), setup_name);

TEST(Pack24Errors, NameTheProblem) {
  const Buffer dense(Values(24), DType::kF32), mask(Values(24), DType::kU8);
  const Buffer values(Values(12), DType::kF32), nibbles(Values(3), DType::kU8);
  const Pack24Args good{.dense = dense.view({3, 8}),
                        .mask = mask.view({3, 8}),
                        .values = values.view({3, 4}),
                        .nibbles = nibbles.view({3, 1})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.dense = {}; }, "[pack24] dense is missing");
  expect_refused(
      good,
      [&](auto& args) {
        args.dense = dense.view({1, 3, 8});
      },
      "[pack24] dense must have two dimensions, got (1, 3, 8)");
  expect_refused(
      good, [&](auto& args) { args.mask = mask.view({24}); },
      "[pack24] mask must have shape (3, 8), got (24)");
  expect_refused(
      good,
      [&](auto& args) {
        args.values = values.view({4, 3});
      },
      "[pack24] values must have shape (3, 4), got (4, 3)");
  expect_refused(
      good, [&](auto& args) { args.nibbles = nibbles.view({3}); },
      "[pack24] nibbles must have shape (3, 1), got (3)");
  expect_refused(
      good,
      [&](auto& args) {
        args.dense = dense.view({4, 6});
      },
      "[pack24] cols of dense must be a multiple of 4, got 6");
  expect_refused(
      good, [](auto& args) { args.transpose = true; },
      "[pack24] rows of dense must be a multiple of 4, got 3");
  const Buffer narrow(Values(12), DType::kBf16);
  Pack24Args operand = good;
  operand.values = narrow.view({3, 4});
  EXPECT_NO_THROW(validate(operand));
  expect_error([&] { pack24(Context(cpu_table(), 1), operand); },
               "[pack24] the cpu backend computes in f32 and got bf16");
  const Unpack24Args back{
      .values = good.values, .nibbles = good.nibbles, .dense = dense.view({3, 8})};
  EXPECT_NO_THROW(validate(back));
  expect_refused(
      back, [](auto& args) { args.nibbles = {}; }, "[unpack24] nibbles is missing");
  expect_refused(
      back,
      [&](auto& args) {
        args.values = narrow.view({3, 4});
      },
      "[unpack24] values must be f32 like dense, got bf16");
  expect_refused(
      back,
      [&](auto& args) {
        args.nibbles = values.view({3, 4});
      },
      "[unpack24] nibbles must be u8, got f32");
}

}  // namespace
}  // namespace twill
