// SPDX-License-Identifier: Apache-2.0
// V:2:M selection against the note on 2602.06183: sections 2.4, 2.7, 3.3, 3.4 and 7.
#include <algorithm>
#include <array>
#include <cmath>

#include "papers/broken.h"
#include "papers/venom_kit.h"
#include "support/tables.h"

namespace twill {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Columns of a window in which any row keeps something.
std::vector<std::int64_t> live_columns(const Bytes& mask, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> live;
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r)
      if (mask[r * columns + c] != 0 && (live.empty() || live.back() != c)) live.push_back(c);
  return live;
}

// The 2:4 metadata of a row that keeps two of four slots: first index below, second above.
int nibble(const Bytes& mask, std::int64_t first, const std::vector<std::int64_t>& live) {
  int code = 0, shift = 0;
  for (std::size_t slot = 0; slot < live.size(); ++slot)
    if (mask[first + live[slot]] != 0) {
      code |= static_cast<int>(slot) << shift;
      shift += 2;
    }
  return code;
}

TEST(Venom_L2, LiteralBlock) {
  const std::vector<float> x{5, 0, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 4, 0, 0, 0};
  for (const KernelTable* table : paper_tables()) {
    const Bytes mask = VenomRun{2, 8, 2, 8}.mask(Context(*table, 1), x);
    EXPECT_EQ(mask, (Bytes{1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0})) << table->name;
    const std::vector<std::int64_t> live = live_columns(mask, 2, 8);
    EXPECT_EQ(live, (std::vector<std::int64_t>{0, 1, 4, 5})) << table->name;
    EXPECT_EQ(nibble(mask, 0, live), 0xC) << table->name;
    EXPECT_EQ(nibble(mask, 8, live), 0x9) << table->name;
  }
}

// Every block of `run`: at most four live columns, at most two per row, and no zero kept.
// `index(p, q)` is the place of row p and column q of the pattern.
testing::AssertionResult expect_pattern(const VenomRun& run, const std::vector<float>& x,
                                        const Bytes& mask) {
  const bool is_row = run.along == GroupAxis::kWithinRow;
  const std::int64_t P = is_row ? run.rows : run.columns, Q = is_row ? run.columns : run.rows;
  const auto index = [&](std::int64_t p, std::int64_t q) {
    return is_row ? p * run.columns + q : q * run.columns + p;
  };
  for (std::int64_t p0 = 0; p0 < P; p0 += run.v)
    for (std::int64_t q0 = 0; q0 < Q; q0 += run.m) {
      std::vector<bool> live(static_cast<std::size_t>(run.m));
      for (std::int64_t p = p0; p < std::min(P, p0 + run.v); ++p) {
        int kept = 0;
        for (std::int64_t q = q0; q < std::min(Q, q0 + run.m); ++q) {
          if (mask[index(p, q)] == 0) continue;
          ++kept;
          live[q - q0] = true;
          if (x[index(p, q)] == 0.0f)
            return testing::AssertionFailure() << fmt::format("a zero kept at ({}, {})", p, q);
        }
        if (kept > 2) return testing::AssertionFailure() << fmt::format("{} in row {}", kept, p);
      }
      if (std::count(live.begin(), live.end(), true) > 4)
        return testing::AssertionFailure() << fmt::format("more than four columns at {}", q0);
    }
  return testing::AssertionSuccess();
}

struct Pattern {
  std::int64_t v, m;
};

class Venom_V3 : public SeededTest {};

TEST_F(Venom_V3, MasksHaveThePattern) {
  const std::vector<float> x = sparse_squares(test_seed(), 130 * 70, 0.4);
  for (const KernelTable* table : paper_tables())
    for (const Pattern pattern : {Pattern{1, 4}, {2, 8}, {16, 8}, {64, 8}, {64, 16}, {16, 32}}) {
      const VenomRun run{130, 70, pattern.v, pattern.m};
      EXPECT_TRUE(expect_pattern(run, x, run.mask(Context(*table, 1), x)))
          << table->name << ' ' << pattern.v << ":2:" << pattern.m;
    }
}

TEST_F(Venom_V3, TiesGoToTheLowestIndex) {
  // Columns 1, 3, 5, 6, 7 have equal sums: 7 has to go, and row 0 has three equal survivors.
  const std::vector<float> x{0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  for (const KernelTable* table : paper_tables())
    EXPECT_EQ((VenomRun{2, 8, 2, 8}.mask(Context(*table, 1), x)),
              (Bytes{0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}))
        << table->name;
}

TEST_F(Venom_V3, NanCountsAsInfinity) {
  const std::vector<float> x{5, 4, 3, 2, 1, 0, 0, std::nanf("")};
  for (const KernelTable* table : paper_tables())
    EXPECT_EQ((VenomRun{1, 8, 1, 8}.mask(Context(*table, 1), x)), (Bytes{1, 0, 0, 0, 0, 0, 0, 1}))
        << table->name;
}

double two_largest(const std::array<float, 4>& values) {
  float first = 0.0f, second = 0.0f;
  for (const float v : values) {
    second = std::max(second, std::min(first, v));
    first = std::max(first, v);
  }
  return double{first} + double{second};
}

// The largest mass that any four columns of a block can keep.
double best_mass(const float* block, std::int64_t stride, std::int64_t v, std::int64_t m) {
  double best = 0.0;
  for (std::int64_t a = 0; a < m; ++a)
    for (std::int64_t b = a + 1; b < m; ++b)
      for (std::int64_t c = b + 1; c < m; ++c)
        for (std::int64_t d = c + 1; d < m; ++d) {
          double mass = 0.0;
          for (std::int64_t r = 0; r < v; ++r) {
            const float* row = block + r * stride;
            mass += two_largest(
                {std::abs(row[a]), std::abs(row[b]), std::abs(row[c]), std::abs(row[d])});
          }
          best = std::max(best, mass);
        }
  return best;
}

double greedy_share(const Pattern& pattern, const std::vector<float>& x, std::int64_t blocks) {
  const auto& [v, m] = pattern;
  std::vector<double> mass(3);
  VenomRun{v, blocks * m, v, m}.mask(Context(fast_paper_table(), 1), x, &mass);
  double best = 0.0;
  for (std::int64_t b = 0; b < blocks; ++b) best += best_mass(x.data() + b * m, blocks * m, v, m);
  return mass[2] / best;
}

// Table of 2.4, over 400 blocks of M = 8 and 40 of M = 16. The allowances are chosen, not derived.
TEST_F(Venom_V3, GreedyIsNearlyBest) {
  constexpr Pattern kPatterns[] = {{16, 8}, {64, 8}, {16, 16}, {64, 16}};
  constexpr double kSparse[] = {.9988, .9996, .9972, .9993}, kGaussian[] = {.986, .993, .978, .990};
  for (std::size_t k = 0; k < 4; ++k) {
    const Pattern& pattern = kPatterns[k];
    const std::int64_t blocks = pattern.m == 8 ? 400 : 40, count = pattern.v * pattern.m * blocks;
    const double sparse =
        greedy_share(pattern, sparse_squares(test_seed() + k, count, 0.1), blocks);
    EXPECT_GE(sparse, .995);
    EXPECT_NEAR(sparse, kSparse[k], .002) << pattern.v << ":2:" << pattern.m;
    const Values normal = Random().normal(count);
    const double gaussian = greedy_share(pattern, {normal.begin(), normal.end()}, blocks);
    EXPECT_GE(gaussian, .97);
    EXPECT_LE(gaussian, 1.0);
    EXPECT_NEAR(gaussian, kGaussian[k], .004) << pattern.v << ":2:" << pattern.m;
  }
}

class Venom_V4 : public SeededTest {};

// Table of 2.7: 1.05e7 entries per cell, the same ones for all cells of a row; lower densities are
// subsets of the highest.
TEST_F(Venom_V4, RetentionOfUnorderedActivations) {
  constexpr Pattern kPatterns[] = {{1, 4},   {1, 8},   {4, 8},   {16, 8},  {64, 8},
                                   {128, 8}, {16, 16}, {64, 16}, {128, 16}};
  constexpr double kDensities[] = {.25, .15, .10, .05};
  constexpr double kKept[4][9] = {{.9889, .9427, .9148, .768, .640, .598, .510, .377, .337},
                                  {.9959, .9760, .9661, .845, .689, .635, .601, .423, .370},
                                  {.9981, .9885, .9850, .902, .733, .668, .683, .467, .401},
                                  {.9995, .9968, .9965, .970, .820, .736, .831, .565, .469}};
  const std::int64_t rows = 1280, columns = 8192;
  const std::uint64_t seed = test_seed();
  const Context context(fast_paper_table(), 2);
  std::vector<float> x = sparse_squares(seed, rows * columns, kDensities[0]);
  for (std::size_t d = 0; d < 4; ++d) {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (d > 0 && x[i] != 0.0f) x[i] = sparse_square(seed, i, kDensities[d]);
    for (std::size_t k = 0; k < 9; ++k) {
      const auto& [v, m] = kPatterns[k];
      std::vector<double> mass(3);
      VenomRun{rows, columns, v, m}.mask(context, x, &mass);
      EXPECT_NEAR(mass[2] / mass[0], kKept[d][k], .01)
          << "density " << kDensities[d] << ", " << v << ":2:" << m;
    }
  }
}

class Venom_V5 : public SeededTest {};

// Products 5 and 6: the masked matrix is sparsified again along tokens, and nothing comes back.
TEST_F(Venom_V5, TransposedPatternsStayInsideTheForwardOnes) {
  const std::int64_t N = 128, f = 192;
  const std::vector<float> a = sparse_squares(test_seed(), N * f, 0.3);
  const Values da = Random().normal(N * f);
  for (const KernelTable* table : paper_tables())
    for (const Pattern pattern : {Pattern{1, 4}, {16, 8}, {64, 8}, {64, 16}}) {
      const Context context(*table, 1);
      const Bytes forward = VenomRun{N, f, 64, 8}.mask(context, a);
      std::vector<float> ah = a, dz = a;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (forward[i] == 0) ah[i] = dz[i] = 0.0f;
        dz[i] *= static_cast<float>(da[i]);
      }
      for (const std::vector<float>& tensor : {ah, dz}) {
        const VenomRun run{N, f, pattern.v, pattern.m, GroupAxis::kWithinColumn};
        const Bytes transposed = run.mask(context, tensor);
        EXPECT_TRUE(expect_pattern(run, tensor, transposed)) << table->name;
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(transposed[i], forward[i]) << i;
      }
    }
}

}  // namespace
}  // namespace twill
