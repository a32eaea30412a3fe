// SPDX-License-Identifier: Apache-2.0
#include "tensor/view.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace twill {
namespace {

class ViewOfSix : public testing::Test {
 protected:
  ViewOfSix() { std::iota(data_.begin(), data_.end(), 0.0f); }

  std::vector<float> data_ = std::vector<float>(6);
  View view_ = view_of(data_.data(), {3, 2});
};

TEST_F(ViewOfSix, KnowsItsMemory) {
  EXPECT_TRUE(view_);
  EXPECT_EQ(view_.dtype(), DType::kF32);
  EXPECT_EQ(view_.num_elements(), 6);
  EXPECT_EQ(view_.num_bytes(), 24);
  EXPECT_EQ(view_.rows(), 3);
  EXPECT_EQ(view_.cols(), 2);
  EXPECT_EQ(view_.as<float>(), data_.data());
}

TEST_F(ViewOfSix, IsAlsoAConstView) {
  const ConstView constant = view_;
  EXPECT_EQ(constant.as<float>(), data_.data());
  static_assert(std::is_same_v<decltype(constant.as<float>()), const float*>);
  static_assert(!std::is_convertible_v<ConstView, View>);
  static_assert(std::is_trivially_copyable_v<View>);
}

TEST_F(ViewOfSix, ReshapesInPlace) {
  const View flat = view_.reshaped({6});
  EXPECT_EQ(flat.shape(), Shape{6});
  EXPECT_EQ(flat.as<float>(), data_.data());
  EXPECT_THROW(view_.reshaped({5}), InternalError);
}

TEST_F(ViewOfSix, CutsRows) {
  const View rows = view_.row_range(1, 2);
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.as<float>()[0], 2.0f);
  EXPECT_EQ(view_.reshaped({3, 1, 2}).row_range(2, 1).as<float>()[1], 5.0f);
  EXPECT_EQ(view_.row_range(3, 0).num_elements(), 0);
  EXPECT_THROW(view_.row_range(2, 2), InternalError);
  EXPECT_THROW(view_.row_range(-1, 1), InternalError);
  EXPECT_THROW(view_.row_range(0, -1), InternalError);
}

TEST(View, IsAbsentByDefault) {
  EXPECT_FALSE(View());
  EXPECT_FALSE(ConstView());
}

TEST(View, TakesItsTypeFromThePointer) {
  double f64 = 0.0;
  std::int32_t i32 = 0;
  Bf16 bf16;
  const std::uint8_t u8 = 0;
  EXPECT_EQ(view_of(&f64, {1}).dtype(), DType::kF64);
  EXPECT_EQ(view_of(&i32, {1}).dtype(), DType::kI32);
  EXPECT_EQ(view_of(&bf16, {1}).dtype(), DType::kBf16);
  EXPECT_EQ(view_of(&u8, {1}).dtype(), DType::kU8);
}

}  // namespace
}  // namespace twill
