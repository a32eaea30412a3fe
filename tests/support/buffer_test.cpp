// SPDX-License-Identifier: Apache-2.0
#include "support/buffer.h"

namespace twill {
namespace {

TEST(Buffer, HoldsValuesOfEveryType) {
  const Values values{0.0, 1.0, 2.0, 255.0};
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kU8})
    EXPECT_EQ(Buffer(values, dtype).values(), values) << name_of(dtype);
  EXPECT_EQ(Buffer({0.1}, DType::kF32).values(), Values{0.1f});
}

TEST(Buffer, MissesItsAlignmentOnRequest) {
  for (const int offset : {0, 1, 3}) {
    const Buffer buffer({1, 2, 3}, DType::kF32, offset);
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.view({3}).bytes());
    EXPECT_EQ(address % 64, static_cast<std::uintptr_t>(4 * offset));
    EXPECT_EQ(buffer.values(), (Values{1, 2, 3}));
  }
}

TEST(Buffer, IsWrittenThroughItsView) {
  const Buffer buffer({1, 2}, DType::kF64, 1);
  buffer.view({2}).as<double>()[1] = 7.0;
  EXPECT_EQ(buffer.values(), (Values{1, 7}));
}

TEST(Buffer, IsViewedWhole) {
  const Buffer buffer({1, 2, 3, 4}, DType::kF32);
  EXPECT_EQ(buffer.view({2, 2}).shape(), (Shape{2, 2}));
  EXPECT_THROW(buffer.view({3}), InternalError);
}

TEST(Buffer, NoValuesMakeAnAbsentOperand) {
  EXPECT_FALSE(optional_view(Buffer({}, DType::kF32), {5}));
  const Buffer present({1}, DType::kF32);
  EXPECT_TRUE(optional_view(present, {1}));
}

}  // namespace
}  // namespace twill
