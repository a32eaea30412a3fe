// SPDX-License-Identifier: Apache-2.0
// FST, acceptance checks A: transposable and row-wise masks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "papers/broken.h"
#include "papers/selection.h"

namespace twill {
namespace {

// All 2^16 blocks, of which those with two in each row and column stay, first entry = highest bit.
std::vector<unsigned> legal_blocks() {
  std::vector<unsigned> legal;
  for (unsigned bits = 0x10000; bits-- > 0;) {
    bool good = true;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = bits >> 4 * i & 0xF, column = bits >> i & 0x1111;
      good = good && std::popcount(row) == 2 && std::popcount(column) == 2;
    }
    if (good) legal.push_back(bits);
  }
  return legal;
}

bool keeps(unsigned block, std::size_t entry) { return (block >> (15 - entry) & 1) != 0; }

float brute_score(const float* magnitudes, unsigned block) {
  float rows[4] = {};
  for (std::size_t i = 0; i < 16; ++i)
    if (keeps(block, i)) rows[i / 4] += magnitudes[i];
  return (rows[0] + rows[1]) + (rows[2] + rows[3]);
}

unsigned brute_force(const std::vector<unsigned>& legal, const float* magnitudes) {
  unsigned best = legal[0];
  for (const unsigned block : legal)
    if (brute_score(magnitudes, block) > brute_score(magnitudes, best)) best = block;
  return best;
}

Matrix literal_block() {
  return {4, 4, {6, -16, -15, 3, -9, -11, -13, -8, -7, 1, -2, 12, 10, -4, 14, -5}};
}

double kept_l1(const Context& context, const Matrix& w, const Bytes& mask) {
  std::vector<float> y(w.x.size());
  apply_mask(
      context,
      {.x = w.view(), .mask = view_of(mask.data(), w.shape()), .y = view_of(y.data(), w.shape())});
  double sum = 0.0;
  for (const float v : y) sum += std::abs(v);
  return sum;
}

TEST(Fst_A1, NinetyPatternsInOrder) {
  const std::vector<unsigned> legal = legal_blocks();
  ASSERT_EQ(legal.size(), 90u);
  EXPECT_EQ(std::vector<unsigned>(transposable_patterns().begin(), transposable_patterns().end()),
            legal);
  EXPECT_EQ(legal[0], 0b1100'1100'0011'0011u);
  EXPECT_EQ(legal[1], 0b1100'1010'0101'0011u);
  EXPECT_EQ(legal[89], 0b0011'0011'1100'1100u);
}

// Half of the blocks are small integers, full of ties. A tall matrix of one block column: blocks
// are contiguous.
TEST(Fst_A1, SearchEqualsBruteForce) {
  const std::vector<unsigned> legal = legal_blocks();
  Matrix w = normal_matrix(4 * 12'000, 4, 1);
  for (std::size_t i = 0; i < w.x.size() / 2; ++i) w.x[i] = std::round(w.x[i]);
  std::vector<float> magnitudes(w.x);
  for (float& v : magnitudes) v = std::abs(v);
  std::vector<unsigned> want;
  for (std::size_t i = 0; i < w.x.size(); i += 16)
    want.push_back(brute_force(legal, &magnitudes[i]));
  for (const KernelTable* table : paper_tables()) {
    const Bytes mask = block_mask(Context(*table, 2), w);
    for (std::size_t i = 0; i < mask.size(); ++i)
      ASSERT_EQ(mask[i] != 0, keeps(want[i / 16], i % 16)) << table->name << ' ' << i;
  }
}

TEST(Fst_A2, RetainedMassOfNormalWeights) {
  const Context context(fast_paper_table(), 2);
  const Matrix w = normal_matrix(1024, 1024, 1);
  const auto expect_mass = [&](const Bytes& mask, double l1, double energy) {
    double sums[5] = {};
    mask_mass(context,
              {.x = w.view(), .mask = view_of(mask.data(), w.shape()), .sums = view_of(sums, {5})});
    EXPECT_NEAR(sums[2] / sums[0], l1, 0.002);
    EXPECT_NEAR(sums[3] / sums[1], energy, 0.003);
    EXPECT_EQ(sums[4], 0.5 * 1024 * 1024);
  };
  expect_mass(block_mask(context, w), 0.7024, 0.8185);
  expect_mass(row_mask(context, w), 0.7445, 0.8676);
}

// Small integers: sums are exact, so the retained L1 is equal to the bit although masks may differ
// by ties. Normal weights have no ties: masks are transposes.
TEST(Fst_A3, TransposedWeightsKeepTheSame) {
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 2);
    Matrix w = normal_matrix(64, 96, 1);
    Matrix mask_of_w{64, 96, {}};
    const Bytes mask = block_mask(context, w);
    mask_of_w.x.assign(mask.begin(), mask.end());
    const Bytes other = block_mask(context, transposed(w));
    EXPECT_EQ(transposed(mask_of_w).x, std::vector<float>(other.begin(), other.end()));
    for (float& v : w.x) v = std::round(4.0f * v);
    const Matrix t = transposed(w);
    EXPECT_EQ(kept_l1(context, w, block_mask(context, w)),
              kept_l1(context, t, block_mask(context, t)));
  }
}

void expect_two_in_each_group(const Bytes& mask, const Shape& shape) {
  for (std::int64_t r = 0; r < shape.rows(); r += 4)
    for (std::int64_t c = 0; c < shape.cols(); c += 4)
      for (std::int64_t i = 0; i < 4; ++i) {
        int row = 0, column = 0;
        for (std::int64_t j = 0; j < 4; ++j) {
          row += mask[static_cast<std::size_t>((r + i) * shape.cols() + c + j)];
          column += mask[static_cast<std::size_t>((r + j) * shape.cols() + c + i)];
        }
        ASSERT_TRUE(row == 2 && column == 2) << r << ' ' << c << ' ' << i;
      }
}

TEST(Fst_A4, TwoInEachRowAndColumn) {
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 2);
    Matrix w = normal_matrix(32, 144, 1);
    for (std::size_t i = 0; i < w.x.size() / 2; ++i) w.x[i] = std::round(w.x[i]);
    w.x[5] = w.x[2001] = std::numeric_limits<float>::quiet_NaN();
    expect_two_in_each_group(block_mask(context, w), w.shape());
    for (const float equal : {0.0f, 1.0f, -3.5f}) {
      const Matrix block{4, 4, std::vector<float>(16, equal)};
      EXPECT_EQ(to_text(block_mask(context, block)), "1100/1100/0011/0011") << table->name;
    }
  }
}

TEST(Fst_A5, LiteralBlock) {
  const Matrix w = literal_block();
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 1);
    const Bytes exact = block_mask(context, w), rows = row_mask(context, w);
    const Bytes greedy = block_mask(context, w, TransposableMethod::kGreedyKeep);
    EXPECT_EQ(to_text(exact), "0110/0101/1001/1010");
    EXPECT_EQ(transposable_patterns()[57], 0b0110'0101'1001'1010);
    EXPECT_EQ(kept_l1(context, w, exact), 93.0);
    EXPECT_EQ(to_text(greedy), "0110/1100/0001/1010");
    EXPECT_EQ(kept_l1(context, w, greedy), 87.0);
    EXPECT_EQ(to_text(rows), "0110/0110/1001/1010");
    EXPECT_EQ(kept_l1(context, w, rows), 98.0);
    EXPECT_EQ(to_text(block_mask(context, transposed(w))), "0011/1100/1001/0110");
    EXPECT_EQ(transposable_patterns()[77], 0b0011'1100'1001'0110);
  }
}

TEST(Fst_A5, RunnerUpOfTheLiteralBlock) {
  std::vector<float> scores, magnitudes = literal_block().x;
  for (float& v : magnitudes) v = std::abs(v);
  for (const unsigned block : legal_blocks())
    scores.push_back(brute_score(magnitudes.data(), block));
  std::ranges::sort(scores);
  EXPECT_EQ(scores[89], 93.0f);
  EXPECT_EQ(scores[88], 89.0f);
}

TEST(Fst_A6, TiesGoToTheLowestIndex) {
  const Matrix w{5, 4, {1, 1, 1, 1, 0, 0, 0, 0, 2, 1, 1, 1, 3, 3, 3, 1, 1, 3, 3, 3}};
  for (const KernelTable* table : paper_tables()) {
    EXPECT_EQ(to_text(row_mask(Context(*table, 1), w)), "1100/1100/1100/1100/0110") << table->name;
    Bytes mask(20);
    const Matrix t = transposed(w);
    select24(
        Context(*table, 1),
        {.x = t.view(), .mask = view_of(mask.data(), t.shape()), .axis = GroupAxis::kWithinColumn});
    EXPECT_EQ(to_text(mask), "1111/0111/1100/0010/0000") << table->name;
  }
}

TEST(Fst_A6, NanCountsAsInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Matrix w{4, 4, {5, 6, 7, nan, -nan, 1, 2, 3, inf, 1, -inf, nan, nan, nan, inf, 9}};
  for (const KernelTable* table : paper_tables())
    EXPECT_EQ(to_text(row_mask(Context(*table, 1), w)), "0011/1001/1010/1100") << table->name;
  // Infinite sums are equal: the first pattern that keeps the NaN.
  const Matrix block{4, 4, {9, 9, 1, nan, 9, 9, 1, 1, 1, 1, 9, 9, 1, 1, 9, 9}};
  for (const KernelTable* table : paper_tables())
    EXPECT_EQ(to_text(block_mask(Context(*table, 1), block)), "1001/1100/0110/0011") << table->name;
}

}  // namespace
}  // namespace twill
