// SPDX-License-Identifier: Apache-2.0
// Random data that comes back: the seed is a hash of the test's name, shown when the test fails,
// and TWILL_TEST_SEED replays it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bf16.h"
#include "base/hash.h"
#include "base/rng.h"
#include "support/expected.h"
#include "tensor/dtype.h"

namespace twill {

inline std::uint64_t seed_of(const std::string& test_name) {
  if (const char* replay = std::getenv("TWILL_TEST_SEED")) return std::strtoull(replay, nullptr, 0);
  return hash_bytes(test_name.data(), test_name.size());
}

inline std::uint64_t test_seed() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return test == nullptr ? 0 : seed_of(fmt::format("{}.{}", test->test_suite_name(), test->name()));
}

inline std::string seed_note() { return fmt::format("TWILL_TEST_SEED={:#x}", test_seed()); }

// What random values are rounded to: f32, or the narrower type of the setup under test.
inline DType& drawn_type() {
  static DType type = DType::kF32;
  return type;
}

// The same values, as the type under test holds them.
inline Values drawn(Values values) {
  if (drawn_type() == DType::kBf16)
    for (double& value : values) value = to_float(to_bf16(static_cast<float>(value)));
  return values;
}

// Values of the current test, all exact in drawn_type(). Every call draws from a fresh stream.
class Random {
 public:
  explicit Random(std::uint64_t seed = test_seed()) : seed_(seed) {}

  Values normal(std::int64_t count, double spread = 1.0, double offset = 0.0) {
    return draw(count, [&](const Philox4& bits) {
      const auto value = static_cast<float>(offset + spread * normal_float(bits[0], bits[1]));
      return drawn_type() == DType::kBf16 ? to_float(to_bf16(value)) : value;
    });
  }
  // Integers in [low, high].
  Values integers(std::int64_t count, std::int64_t low, std::int64_t high) {
    return draw(count, [&](const Philox4& bits) {
      return static_cast<double>(low + bits[0] % (high - low + 1));
    });
  }

 private:
  template <class Pick>
  Values draw(std::int64_t count, const Pick& pick) {
    Values values;
    ++stream_;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(
          pick(random_bits(seed_, Purpose::kTest, stream_, static_cast<std::uint64_t>(i))));
    return values;
  }

  std::uint64_t seed_;
  std::uint32_t stream_ = 0;
};

}  // namespace twill
