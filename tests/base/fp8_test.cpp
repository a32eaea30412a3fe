// SPDX-License-Identifier: Apache-2.0
#include "base/fp8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace twill {
namespace {

template <class Fp8>
class Fp8Numbers : public testing::Test {
 protected:
  // All finite numbers that are not negative, in ascending order: the code is the place.
  static std::vector<float> finite() {
    std::vector<float> numbers;
    for (std::uint32_t code = 0; code <= Fp8::kMaxCode; ++code)
      numbers.push_back(to_float(Fp8{static_cast<std::uint8_t>(code)}));
    return numbers;
  }
};

using Formats = testing::Types<Fp8E4m3, Fp8E5m2>;
TYPED_TEST_SUITE(Fp8Numbers, Formats);

TYPED_TEST(Fp8Numbers, ThereAndBackIsTheSameCode) {
  for (std::uint32_t code = 0; code < 256; ++code) {
    const TypeParam number{static_cast<std::uint8_t>(code)};
    const float value = to_float(number);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_fp8<TypeParam>(value)))) << code;
    } else if (std::isinf(value)) {
      EXPECT_EQ(to_float(to_fp8<TypeParam>(value)), std::copysign(TypeParam::kMax, value));
    } else {
      EXPECT_EQ(to_fp8<TypeParam>(value), number) << code;
      EXPECT_EQ(std::signbit(value), code >= 128) << code;
    }
  }
}

// Half-way points, and the f32 numbers on both sides of them.
TYPED_TEST(Fp8Numbers, RoundToNearestEven) {
  const std::vector<float> numbers = this->finite();
  ASSERT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  for (std::size_t code = 0; code + 1 < numbers.size(); ++code) {
    const float low = numbers[code], high = numbers[code + 1], middle = low + (high - low) / 2;
    const auto code_of = [](float v) { return std::size_t{to_fp8<TypeParam>(v).bits}; };
    EXPECT_EQ(code_of(middle), code % 2 == 0 ? code : code + 1) << middle;
    EXPECT_EQ(code_of(std::nextafter(middle, 0.0f)), code) << middle;
    EXPECT_EQ(code_of(std::nextafter(middle, 1e9f)), code + 1) << middle;
    EXPECT_EQ(code_of(-middle), 128 + code_of(middle)) << middle;
  }
}

TYPED_TEST(Fp8Numbers, SaturateAndKeepNan) {
  const float max = TypeParam::kMax;
  EXPECT_EQ(this->finite().back(), max);
  for (const float v :
       {max, std::nextafter(max, 1e9f), 1e30f, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(to_float(to_fp8<TypeParam>(v)), max);
    EXPECT_EQ(to_float(to_fp8<TypeParam>(-v)), -max);
  }
  EXPECT_TRUE(std::isnan(to_float(to_fp8<TypeParam>(std::nanf("")))));
  EXPECT_EQ(to_fp8<TypeParam>(-1e-30f).bits, 0x80);
}

// From the standard's tables.
TEST(Fp8, KnownCodes) {
  EXPECT_EQ(to_fp8<Fp8E4m3>(1.0f).bits, 0x38);
  EXPECT_EQ(to_fp8<Fp8E4m3>(448.0f).bits, 0x7e);
  EXPECT_EQ(to_float(Fp8E4m3{0x01}), 0x1p-9f);
  EXPECT_EQ(to_float(Fp8E4m3{0x08}), 0x1p-6f);
  EXPECT_TRUE(std::isnan(to_float(Fp8E4m3{0x7f})));
  EXPECT_EQ(to_fp8<Fp8E5m2>(1.0f).bits, 0x3c);
  EXPECT_EQ(to_fp8<Fp8E5m2>(57344.0f).bits, 0x7b);
  EXPECT_EQ(to_float(Fp8E5m2{0x01}), 0x1p-16f);
  EXPECT_EQ(to_float(Fp8E5m2{0x04}), 0x1p-14f);
  EXPECT_EQ(to_float(Fp8E5m2{0xfc}), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to_float(Fp8E5m2{0x7d})));
}

}  // namespace
}  // namespace twill
