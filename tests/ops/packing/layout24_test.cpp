// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/layout24.h"

#include <vector>

#include <gtest/gtest.h>

namespace twill {
namespace {

static_assert(meta_offset(kMetaLayout16Bit, 64, 31, 3) == 191, "usable at compile time");

void expect_bijection(const MetaLayout24& layout, std::int64_t rows, std::int64_t words) {
  std::vector<int> hits(static_cast<std::size_t>(rows * words));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < words; ++c) {
      const std::int64_t offset = meta_offset(layout, rows, r, c);
      ASSERT_TRUE(offset >= 0 && offset < rows * words) << r << ' ' << c;
      ++hits[static_cast<std::size_t>(offset)];
    }
  for (const int count : hits) ASSERT_EQ(count, 1) << rows << " x " << words;
}

TEST(MetaLayout24, IsABijection) {
  for (const std::int64_t words : {2, 4, 6, 64}) {
    for (const std::int64_t rows : {32, 64, 96, 256})
      expect_bijection(kMetaLayout16Bit, rows, words);
    for (const std::int64_t rows : {16, 32, 48, 256})
      expect_bijection(kMetaLayout8Bit, rows, words);
  }
}

}  // namespace
}  // namespace twill
