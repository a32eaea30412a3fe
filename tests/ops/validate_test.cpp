// SPDX-License-Identifier: Apache-2.0
#include "ops/validate.h"

#include "support/buffer.h"
#include "support/expect_error.h"

namespace twill {
namespace {

const Buffer& floats() {
  static const Buffer buffer(Values(6), DType::kF32);
  return buffer;
}
const Buffer& doubles() {
  static const Buffer buffer(Values(6), DType::kF64);
  return buffer;
}

TEST(Validate, WantsOneFloatType) {
  const View x = floats().view({6}), y = doubles().view({6});
  EXPECT_NO_THROW(require_one_float_type("op", {{"x", x}, {"y", x}}));
  EXPECT_NO_THROW(require_one_float_type("op", {{"x", y}, {"y", y}}));
  EXPECT_NO_THROW(require_one_float_type("op", {{"x", {}, true}, {"y", y}}));
  expect_error(
      [&] {
        require_one_float_type("op", {{"x", x}, {"y", y}});
      },
      "[op] y must be f32 like x, got f64");
  expect_error(
      [&] {
        require_one_float_type("op", {{"x", {}, true}, {"y", y}, {"z", x}});
      },
      "[op] z must be f64 like y, got f32");
}

TEST(Validate, RefusesOtherTypes) {
  const Buffer tokens(Values(6), DType::kI32);
  expect_error(
      [&] {
        require_one_float_type("op", {{"x", tokens.view({6})}});
      },
      "[op] x must be f32 or f64, got i32");
}

TEST(Validate, NamesWhatIsMissing) {
  expect_error([] { require_one_float_type("op", {{"x", ConstView()}}); }, "[op] x is missing");
  // A view of no elements needs no memory.
  EXPECT_NO_THROW(require_one_float_type("op", {{"x", View(nullptr, DType::kF32, {0, 3})}}));
}

TEST(Validate, ComparesShapes) {
  const View x = floats().view({2, 3});
  EXPECT_NO_THROW(require_shape("op", {"x", x}, {2, 3}));
  EXPECT_NO_THROW(require_shape("op", {"x", {}, true}, {2, 3}));
  expect_error(
      [&] {
        require_shape("op", {"x", x}, {3, 2});
      },
      "[op] x must have shape (3, 2), got (2, 3)");
  expect_error(
      [&] {
        require_shape("op", {"x", x}, {6});
      },
      "[op] x must have shape (6), got (2, 3)");
}

TEST(Validate, ComparesTypes) {
  const View x = floats().view({6});
  EXPECT_NO_THROW(require_dtype("op", {"x", x}, DType::kF32));
  expect_error([&] { require_dtype("op", {"x", x}, DType::kI32); }, "[op] x must be i32, got f32");
}

}  // namespace
}  // namespace twill
