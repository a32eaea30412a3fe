// SPDX-License-Identifier: Apache-2.0
// The layout of packed 2:4 matrices against what sparse tensor cores want, told another way.
#include "backends/cuda/packing/packed_layout.h"

#include <bit>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/packing/packed_operand.h"
#include "ops/packing/pack24.h"
#include "support/sparse_data.h"

namespace twill::cuda {
namespace {

// What each binary digit of m and of k weighs in the number of an entry's bit inside its atom.
constexpr std::int64_t kDigitsOfM[] = {64, 128, 256, 16, 1024, 2048};
constexpr std::int64_t kDigitsOfK[] = {1, 2, 4, 8, 512, 32};

std::int64_t bit_in_atom(std::int64_t m, std::int64_t k) {
  std::int64_t bit = 0;
  for (int digit = 0; digit < 6; ++digit)
    bit += (m >> digit & 1) * kDigitsOfM[digit] + (k >> digit & 1) * kDigitsOfK[digit];
  return bit;
}

// Atoms of 4096 bits, a column of them after the other; M padded to whole atoms.
std::int64_t bit_of(const PackedLayout& layout, std::int64_t m, std::int64_t k) {
  std::int64_t atoms_of_column = 0;
  while (atoms_of_column * 64 < layout.rows) ++atoms_of_column;
  return 4096 * (m / 64 + k / 64 * atoms_of_column) + bit_in_atom(m % 64, k % 64);
}

constexpr std::int64_t kRowCounts[] = {8, 16, 56, 64, 72, 128, 136, 200};
constexpr std::int64_t kColCounts[] = {1,  2,  3,  4,  5,  12, 15,  16,  17,  32,  48,
                                       60, 63, 64, 65, 80, 96, 127, 128, 129, 196, 208};

std::vector<PackedLayout> possible_layouts() {
  std::vector<PackedLayout> layouts;
  for (const PackedOrder order : {PackedOrder::kRowsWhole, PackedOrder::kColumnsWhole})
    for (const std::int64_t rows : kRowCounts)
      for (const std::int64_t cols : kColCounts)
        if (const PackedLayout layout{order, rows, cols}; layout.is_possible())
          layouts.push_back(layout);
  return layouts;
}

std::string text_of(const PackedLayout& layout) {
  return fmt::format("{} x {}, {} whole", layout.rows, layout.cols,
                     layout.order == PackedOrder::kRowsWhole ? "rows" : "columns");
}

TEST(PackedLayout, AnAtomHasTheTensorCoresOrder) {
  std::set<std::int64_t> bits;
  for (std::int64_t m = 0; m < 64; ++m)
    for (std::int64_t k = 0; k < 64; ++k) {
      EXPECT_EQ(word_in_atom(m, k) * 16 + k % 16, bit_in_atom(m, k)) << m << ", " << k;
      bits.insert(bit_in_atom(m, k));
    }
  EXPECT_EQ(bits.size(), 4096u);
  EXPECT_EQ(*bits.rbegin(), 4095);
}

TEST(PackedLayout, LiteralWords) {
  EXPECT_EQ(word_in_atom(0, 15), 0);
  EXPECT_EQ(word_in_atom(0, 16), 32);  // the next sixteen entries of a row: 64 bytes on
  EXPECT_EQ(word_in_atom(0, 32), 2);
  EXPECT_EQ(word_in_atom(1, 0), 4);
  EXPECT_EQ(word_in_atom(8, 0), 1);
  EXPECT_EQ(word_in_atom(16, 0), 64);
  EXPECT_EQ(word_in_atom(63, 63), 255);
  const PackedLayout layout{PackedOrder::kRowsWhole, 72, 144};  // 2 x 3 atoms
  EXPECT_EQ(layout.word_of(64, 0), 256);
  EXPECT_EQ(layout.word_of(0, 64), 512);
  EXPECT_EQ(layout.word_of(71, 143), 5 * 256 + 28);
  EXPECT_EQ(layout.positions_begin(), 72 * 144);  // 10368 = 81 · 128
  EXPECT_EQ(layout.num_bytes(), 72 * 144 + 6 * 512);
}

// All sixteen-entry pieces of the padded matrix fill the words of all atoms, each one once.
TEST(PackedLayout, WordsAreABijection) {
  for (const PackedLayout& layout : possible_layouts()) {
    const std::int64_t padded_rows = (layout.rows + 63) / 64 * 64;
    const std::int64_t padded_cols = (layout.cols + 63) / 64 * 64;
    std::vector<int> met(static_cast<std::size_t>(padded_rows * padded_cols / 16), 0);
    ASSERT_EQ(layout.num_atoms() * kAtomHalves, static_cast<std::int64_t>(met.size()));
    for (std::int64_t m = 0; m < padded_rows; ++m)
      for (std::int64_t k = 0; k < padded_cols; ++k) {
        const std::int64_t word = layout.word_of(m, k);
        ASSERT_EQ(word * 16 + k % 16, bit_of(layout, m, k))
            << m << ", " << k << " of " << text_of(layout);
        if (k % 16 == 0) ++met.at(static_cast<std::size_t>(word));
      }
    EXPECT_EQ(met, std::vector<int>(met.size(), 1)) << text_of(layout);
  }
}

// Values fill their part without gaps, rows or columns whole.
TEST(PackedLayout, ValuesAreABijection) {
  for (const PackedLayout& layout : possible_layouts()) {
    const bool rows_whole = layout.order == PackedOrder::kRowsWhole;
    std::int64_t stored = 0;  // values of a row: two for every group of four, the last one short
    for (std::int64_t k = 0; k < layout.cols; k += 4) stored += 2;
    ASSERT_EQ(layout.row_values(), stored) << text_of(layout);
    std::int64_t next = 0;
    for (std::int64_t outer = 0; outer < (rows_whole ? layout.rows : stored); ++outer)
      for (std::int64_t inner = 0; inner < (rows_whole ? stored : layout.rows); ++inner)
        ASSERT_EQ(rows_whole ? layout.value_at(outer, inner) : layout.value_at(inner, outer),
                  next++)
            << outer << ", " << inner << " of " << text_of(layout);
    EXPECT_EQ(next, layout.rows * stored);
  }
}

TEST(PackedLayout, PositionsBeginOnALineBehindTheValues) {
  for (const PackedLayout& layout : possible_layouts()) {
    const std::int64_t values_end = 2 * layout.rows * layout.row_values();
    EXPECT_EQ(layout.positions_begin() % 128, 0) << text_of(layout);
    EXPECT_GE(layout.positions_begin(), values_end) << text_of(layout);
    EXPECT_LT(layout.positions_begin(), values_end + 128) << text_of(layout);
    const std::int64_t atoms = ((layout.rows + 63) / 64) * ((layout.cols + 63) / 64);
    EXPECT_EQ(layout.num_bytes(), layout.positions_begin() + 512 * atoms) << text_of(layout);
  }
}

// What the copy engine refuses: rows, and columns that lie whole, in other pieces than 16 bytes.
TEST(PackedLayout, KnowsWhatIsPossible) {
  for (std::int64_t rows = 0; rows <= 40; ++rows)
    for (std::int64_t cols = 0; cols <= 80; ++cols) {
      const bool some = rows > 0 && cols > 0;
      const PackedLayout right{PackedOrder::kRowsWhole, rows, cols};
      const PackedLayout left{PackedOrder::kColumnsWhole, rows, cols};
      EXPECT_EQ(right.is_possible(), some && rows % 8 == 0 && cols % 16 == 0) << text_of(right);
      EXPECT_EQ(left.is_possible(), some && rows % 8 == 0) << text_of(left);
      for (const PackedLayout& layout : {right, left}) {
        EXPECT_TRUE(!layout.is_possible() || layout.pitch() * 2 % 16 == 0) << text_of(layout);
      }
    }
}

// Where rows from a whole atom on are a matrix of their own, every value and every word of positions
// is where the whole matrix has it.
TEST(PackedLayout, RowsFromAnAtomOnAreAMatrix) {
  int cases = 0;
  for (const PackedLayout& whole : possible_layouts())
    for (std::int64_t row = 0; row < whole.rows; row += 8) {
      const bool can = whole.order == PackedOrder::kRowsWhole && row % 64 == 0;
      ASSERT_EQ(whole.can_begin_at(row), can) << row << " of " << text_of(whole);
      if (!can) continue;
      ++cases;
      const PackedLayout part{whole.order, whole.rows - row, whole.cols};
      EXPECT_EQ(whole.values_from(row) % 16, 0) << row << " of " << text_of(whole);
      EXPECT_EQ((whole.positions_from(row) - whole.positions_begin()) % 512, 0);
      for (std::int64_t m = 0; m < part.rows; ++m) {
        for (std::int64_t s = 0; s < part.row_values(); ++s)
          ASSERT_EQ(whole.values_from(row) + 2 * part.value_at(m, s),
                    2 * whole.value_at(row + m, s));
        for (std::int64_t k = 0; k < part.cols; k += 16) {
          const std::int64_t atom = m / 64 + k / 64 * whole.atoms_down();
          ASSERT_EQ(whole.positions_from(row) + 2 * (atom * 256 + word_in_atom(m, k)),
                    whole.positions_begin() + 2 * whole.word_of(row + m, k));
        }
      }
    }
  EXPECT_GT(cases, 30);
}

TEST(PackedLayout, TheSideChoosesTheOrder) {
  PackedShape shape{.pattern = PackedPattern::k24, .rows = 72, .cols = 48, .type = DType::kBf16};
  EXPECT_EQ(layout_of(shape).order, PackedOrder::kRowsWhole);
  EXPECT_EQ(layout_of(shape).pitch(), 24);
  shape.side = PackedSide::kLeft;
  EXPECT_EQ(layout_of(shape).order, PackedOrder::kColumnsWhole);
  EXPECT_EQ(layout_of(shape).pitch(), 72);
  EXPECT_EQ(layout_of(shape).rows, 72);
  EXPECT_EQ(layout_of(shape).cols, 48);
}

class PackedLayoutOfMasks : public SeededTest {};

// The nibbles of ops/packing/pack24.h in the device's words: every one of their bits is where bit_of says,
// no other bit is set, and the nibbles come back.
TEST_F(PackedLayoutOfMasks, NibblesGoThereAndBack) {
  Random random;
  const Context reference(reference_table(), 1);
  for (const PackedLayout& layout : possible_layouts()) {
    const std::int64_t R = layout.rows, C = (layout.cols + 3) / 4 * 4, row_bytes = (C + 7) / 8;
    Values kept = random_mask(random, R * C);  // any number of a group
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (static_cast<std::int64_t>(i) % C >= layout.cols) kept[i] = 0.0;
    const Buffer dense(Values(kept.size(), 1.0), DType::kF32), mask(kept, DType::kU8);
    const Buffer values(rubbish(R * C / 2), DType::kF32);
    const Buffer nibbles(mask_rubbish(R * row_bytes), DType::kU8);
    pack24(reference, {.dense = dense.view({R, C}),
                       .mask = mask.view({R, C}),
                       .values = values.view({R, C / 2}),
                       .nibbles = nibbles.view({R, row_bytes})});
    const auto* bytes = nibbles.view({R, row_bytes}).as<std::uint8_t>();
    const auto nibble = [&](std::int64_t m, std::int64_t group) {
      return unsigned{bytes[m * row_bytes + group / 2]} >> (group % 2 * 4) & 0xfu;
    };

    std::vector<std::uint16_t> words(static_cast<std::size_t>(layout.num_atoms() * kAtomHalves));
    const auto word_at = [&](std::int64_t m, std::int64_t k) -> std::uint16_t& {
      return words.at(static_cast<std::size_t>(layout.word_of(m, k)));
    };
    for (std::int64_t m = 0; m < R; ++m)
      for (std::int64_t k = 0; k < C; k += 4)
        word_at(m, k) |= static_cast<std::uint16_t>(nibble(m, k / 4) << (k % kSixteen));

    for (std::int64_t m = 0; m < R; ++m)
      for (std::int64_t k = 0; k < C; ++k) {
        const std::int64_t bit = bit_of(layout, m, k);
        const unsigned word = words.at(static_cast<std::size_t>(bit / 16));
        ASSERT_EQ(word >> (bit % 16) & 1u, nibble(m, k / 4) >> (k % 4) & 1u)
            << m << ", " << k << " of " << text_of(layout);
        ASSERT_EQ(unsigned{word_at(m, k)} >> (k % kSixteen / 4 * 4) & 0xfu, nibble(m, k / 4))
            << m << ", " << k << " of " << text_of(layout);
      }
    int num_bits = 0;  // and none elsewhere
    for (const std::uint16_t word : words) num_bits += std::popcount(word);
    for (std::int64_t m = 0; m < R; ++m)
      for (std::int64_t group = 0; group < C / 4; ++group)
        num_bits -= std::popcount(nibble(m, group));
    EXPECT_EQ(num_bits, 0) << text_of(layout);
  }
}

// Sixteen entries of which nothing is known keep the first two of every group, as an empty mask.
TEST(PackedLayout, IdlePositionsAreThoseOfAnEmptyMask) {
  const Context reference(reference_table(), 1);
  const Buffer dense(Values(16, 1.0), DType::kF32), mask(Values(16, 0.0), DType::kU8);
  const Buffer values(rubbish(8), DType::kF32), nibbles(mask_rubbish(2), DType::kU8);
  pack24(reference, {.dense = dense.view({1, 16}),
                     .mask = mask.view({1, 16}),
                     .values = values.view({1, 8}),
                     .nibbles = nibbles.view({1, 2})});
  EXPECT_EQ(nibbles.values(), (Values{kIdlePositions & 0xff, kIdlePositions >> 8}));
}

}  // namespace
}  // namespace twill::cuda
