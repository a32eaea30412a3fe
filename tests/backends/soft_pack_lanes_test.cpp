// SPDX-License-Identifier: Apache-2.0
// How the lanes of a warp put the positions of 16 rows together.
#include "backends/cuda/packing/soft_pack_lanes.h"

#include <array>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "backends/cuda/packing/packed_layout.h"
#include "support/seeds.h"

namespace twill::cuda {
namespace {

using Codes = std::array<std::array<unsigned, 16>, kWarpRows>;  // of a row's groups

Codes random_codes() {
  Random random;
  const Values drawn = random.integers(kWarpRows * 16, 0, 15);
  Codes codes{};
  for (std::size_t i = 0; i < drawn.size(); ++i)
    codes[i / 16][i % 16] = static_cast<unsigned>(drawn[i]);
  return codes;
}

// What lane has of a word, as the kernel has it in registers.
unsigned part(const Codes& codes, unsigned lane, bool second) {
  unsigned bytes[kLaneRows];
  for (unsigned i = 0; i < kLaneRows; ++i) {
    const auto& row = codes[row_of_lane(lane, i)];
    const unsigned group = column_of_lane(lane) / 4;
    bytes[i] = row[group] | row[group + 1] << 4;
  }
  return part_of_word(bytes, lane, second);
}

TEST(SoftPackLanes, TheWordsOfAWarpAreThoseOfTheLayout) {
  SCOPED_TRACE(seed_note());
  const Codes codes = random_codes();
  std::array<unsigned, 32> words{};
  std::set<unsigned> written;
  for (unsigned lane = 0; lane < 32; ++lane) {
    // The neighbour sends what it does not store.
    const unsigned neighbour = lane ^ 1u;
    words[word_of_lane(lane)] =
        part(codes, lane, stores_second(lane)) | part(codes, neighbour, !stores_second(neighbour));
    written.insert(word_of_lane(lane));
  }
  ASSERT_EQ(written.size(), 32u);
  for (const std::int64_t first_row : {0, 16, 32, 48})
    for (std::int64_t m = 0; m < 16; ++m)
      for (std::int64_t k = 0; k < kAtom; k += 4) {
        const std::int64_t half = word_in_atom(first_row + m, k) - first_row * 4;
        ASSERT_GE(half, 0);
        ASSERT_LT(half, 64) << "the positions of 16 rows lie side by side";
        const unsigned word = words[static_cast<std::size_t>(half / 2)];
        EXPECT_EQ(word >> (16 * (half % 2) + k % 16) & 0xfu,
                  codes[static_cast<std::size_t>(m)][static_cast<std::size_t>(k / 4)])
            << m << ", " << k;
      }
}

TEST(SoftPackLanes, EveryEntryIsOneLanes) {
  std::set<unsigned> taken;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < kLaneRows; ++i)
      taken.insert(row_of_lane(lane, i) * 64 + column_of_lane(lane));
  EXPECT_EQ(taken.size(), kWarpRows * 64u / 8u);
  EXPECT_LE(*taken.rbegin(), kWarpRows * 64u - 8u);
}

}  // namespace
}  // namespace twill::cuda
