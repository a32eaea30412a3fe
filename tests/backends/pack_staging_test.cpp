// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the kernel that packs both sides of a weight.
#include "backends/cuda/packing/pack_staging.h"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace twill::cuda {
namespace {

TEST(PackStaging, BitsOfABlock) {
  for (unsigned kept = 0; kept < 1u << 16; ++kept) {
    unsigned want = 0;
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned c = 0; c < 4; ++c) want |= (kept >> (4 * r + c) & 1u) << (4 * c + r);
    ASSERT_EQ(turned_bits(kept), want) << kept;
    // Four digits as codes, a byte each.
    const unsigned bytes =
        (kept & 0xfu) | (kept & 0xf0u) << 4 | (kept & 0xf00u) << 8 | (kept & 0xf000u) << 12;
    ASSERT_EQ(word_of_codes(bytes), kept);
  }
  constexpr std::array<unsigned, 7> kBytes{0, 1, 2, 0x7f, 0x80, 0x81, 0xff};
  for (const unsigned a : kBytes)
    for (const unsigned b : kBytes)
      for (const unsigned c : kBytes)
        for (const unsigned d : kBytes)
          ASSERT_EQ(bits_of_flags(a | b << 8 | c << 16 | d << 24),
                    unsigned{a != 0} | unsigned{b != 0} << 1 | unsigned{c != 0} << 2 |
                        unsigned{d != 0} << 3);
  EXPECT_EQ(set_of_code(0x4), 0b0011u);
  EXPECT_EQ(set_of_code(0xd), 0b1010u);
}

// Different words that lanes touch at once in the busiest of 32 banks.
std::size_t most_in_a_bank(const std::vector<unsigned>& words) {
  std::map<unsigned, std::set<unsigned>> banks;
  std::size_t most = 0;
  for (const unsigned word : words) {
    banks[word % 32].insert(word);
    most = std::max(most, banks[word % 32].size());
  }
  return most;
}

TEST(PackStaging, EveryGroupHasItsPlace) {
  std::set<unsigned> values, codes;
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned group = 0; group < 16; ++group) {
      EXPECT_LT(staged_value(row, group), kStagedValues);
      values.insert(staged_value(row, group));
      codes.insert(staged_code(row, group / 4));
      EXPECT_EQ(staged_value(row, group), staged_value(row, group / 4 * 4) + group % 4);
      EXPECT_EQ(staged_value(row, group / 4 * 4) % 4, 0u) << "16 bytes at once";
    }
  EXPECT_EQ(values.size(), 64u * 16u);
  EXPECT_EQ(codes.size(), 64u * 4u);
  EXPECT_LT(*codes.rbegin(), kStagedCodes);
}

TEST(PackStaging, NoTwoLanesMeetInABank) {
  for (unsigned warp = 0; warp < 8; ++warp) {
    for (unsigned i = 0; i < 4; ++i) {
      std::vector<unsigned> plain, turned, plain_codes, turned_codes;
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned down = warp / 2 * 4 + lane / 8, across = warp % 2 * 8 + lane % 8;
        plain.push_back(staged_value(4 * down + i, across));
        turned.push_back(staged_value(4 * across + i, down));
        plain_codes.push_back(staged_code(4 * down + i, across / 4));
        turned_codes.push_back(staged_code(4 * across + i, down / 4));
      }
      for (const auto& words : {plain, turned, plain_codes, turned_codes})
        EXPECT_EQ(most_in_a_bank(words), 1u) << warp << ", " << i;
    }
    // 16 bytes a lane: eight lanes at once.
    for (unsigned first = 0; first < 32; first += 8) {
      std::vector<unsigned> words;
      for (unsigned thread = 32 * warp + first; thread < 32 * warp + first + 8; ++thread)
        for (unsigned word = 0; word < 4; ++word)
          words.push_back(staged_value(thread / 4, thread % 4 * 4 + word));
      EXPECT_EQ(most_in_a_bank(words), 1u) << warp << ", " << first;
    }
  }
}

}  // namespace
}  // namespace twill::cuda
