// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <gtest/gtest.h>

#include "tensor/dtype.h"

namespace twill {
namespace {

TEST(Shape, FoldsToRowsAndColumns) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[2], 4);
  EXPECT_EQ(shape.num_elements(), 24);
  EXPECT_EQ(shape.rows(), 6);
  EXPECT_EQ(shape.cols(), 4);
}

TEST(Shape, ScalarsAndVectorsHaveOneRow) {
  EXPECT_EQ(Shape{}.num_elements(), 1);
  EXPECT_EQ(Shape{}.rows(), 1);
  EXPECT_EQ(Shape{}.cols(), 1);
  EXPECT_EQ(Shape{7}.rows(), 1);
  EXPECT_EQ(Shape{7}.cols(), 7);
}

TEST(Shape, MayBeEmpty) {
  EXPECT_EQ((Shape{0, 5}.num_elements()), 0);
  EXPECT_EQ((Shape{5, 0}.rows()), 5);
  EXPECT_EQ((Shape{5, 0}.num_elements()), 0);
}

TEST(Shape, ComparesRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{3, 2}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{2, 3, 1}));
}

TEST(Shape, RefusesNonsense) {
  EXPECT_THROW((Shape{1, 2, 3, 4, 5}), InternalError);
  EXPECT_THROW(Shape{-1}, InternalError);
  EXPECT_THROW((Shape{1, 2}[2]), InternalError);
  EXPECT_THROW((Shape{1, 2}[-1]), InternalError);
}

TEST(Shape, IsPrintedLikeATuple) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{5}), "(5)");
  EXPECT_EQ(to_string(Shape{2, 3, 4}), "(2, 3, 4)");
}

TEST(DType, HasSizeAndName) {
  EXPECT_EQ(size_of(DType::kF64), 8);
  EXPECT_EQ(size_of(DType::kF32), 4);
  EXPECT_EQ(size_of(DType::kI32), 4);
  EXPECT_EQ(size_of(DType::kBf16), 2);
  EXPECT_EQ(size_of(DType::kU8), 1);
  EXPECT_STREQ(name_of(DType::kBf16), "bf16");
  EXPECT_STREQ(name_of(DType::kU8), "u8");
}

}  // namespace
}  // namespace twill
