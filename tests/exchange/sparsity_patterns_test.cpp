// SPDX-License-Identifier: Apache-2.0
#include "exchange/sparsity_patterns.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/seeds.h"

namespace twill {
namespace {

struct Matrix {
  std::int64_t rows, columns;
  std::vector<float> values;

  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c) {
    values.resize(static_cast<std::size_t>(r * c));
  }
  float& at(std::int64_t r, std::int64_t c) {
    return values[static_cast<std::size_t>(r * columns + c)];
  }
  MatrixPatterns patterns() const { return find_patterns(values.data(), rows, columns); }
  std::string text(InputAxis input = InputAxis::kUnknown) const {
    return describe(patterns(), input);
  }
};

// Non-zeros where the picture has an 'x'.
Matrix drawn(const std::vector<std::string>& picture) {
  Matrix matrix(static_cast<std::int64_t>(picture.size()),
                static_cast<std::int64_t>(picture[0].size()));
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    for (std::int64_t c = 0; c < matrix.columns; ++c)
      if (picture[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] == 'x')
        matrix.at(r, c) = -1.5f;
  return matrix;
}

TEST(SparsityPatterns, HandMade) {
  EXPECT_EQ(drawn({"xxxx", "xxxx", "xxxx", "xxxx"}).text(), "dense");
  EXPECT_EQ(drawn({"....", "....", "....", "...."}).text(), "all zero");
  EXPECT_EQ(drawn({"xx..", "xx..", "xx..", "xx.."}).text(), "2:4 along rows");
  EXPECT_EQ(drawn({"xxxx", "xxxx", "....", "...."}).text(), "2:4 along columns");
  EXPECT_EQ(drawn({"xx..", "xx..", "..xx", "..xx"}).text(),
            "2:4 along rows and columns (transposable)");
  EXPECT_EQ(drawn({"x...", ".x..", "..x.", "...x"}).text(),
            "1:4 along rows and columns (transposable)");
  EXPECT_EQ(drawn({"x...", "x...", "..x.", "..x."}).text(),
            "1:4 along rows, 2:4 along columns (transposable)");
  EXPECT_EQ(drawn({"xxx.", "....", "....", "...."}).text(), "1:4 along columns");
  EXPECT_EQ(drawn({"xxx.", "x...", "x...", "...."}).text(), "unstructured");
  // Groups are aligned: these three neighbours lie in two groups.
  EXPECT_EQ(drawn({"...xx..."}).text(), "1:4 along rows");
  EXPECT_EQ(drawn({"..xxx..."}).text(), "2:4 along rows");
  // Six columns have no groups of four.
  EXPECT_EQ(drawn({"x....."}).text(), "unstructured");
}

TEST(SparsityPatterns, AxesByName) {
  const Matrix matrix = drawn({"xx..", "xx..", "xx..", "xx.."});
  EXPECT_EQ(matrix.text(InputAxis::kColumns), "2:4 along in");
  EXPECT_EQ(matrix.text(InputAxis::kRows), "2:4 along out");
  EXPECT_EQ(input_axis("transformer.h.3.attn.c_proj.weight"), InputAxis::kRows);
  EXPECT_EQ(input_axis("h.3.mlp.c_fc.weight"), InputAxis::kRows);
  EXPECT_EQ(input_axis("model.layers.0.mlp.up_proj.weight"), InputAxis::kColumns);
  EXPECT_EQ(input_axis("blocks.1.ffn.output.weight"), InputAxis::kColumns);
  EXPECT_EQ(input_axis("lm_head.weight"), InputAxis::kColumns);
  EXPECT_EQ(input_axis("transformer.wte.weight"), InputAxis::kUnknown);
  EXPECT_EQ(input_axis("encoder.weight"), InputAxis::kUnknown);
}

TEST(SparsityPatterns, CountsWhatIsThere) {
  Matrix matrix(4, 4);
  matrix.at(0, 0) = -0.0f;
  matrix.at(0, 1) = NAN;
  matrix.at(1, 1) = INFINITY;
  matrix.at(2, 2) = 1.0f;
  const MatrixPatterns found = matrix.patterns();
  EXPECT_EQ(found.nonzeros, 3);
  EXPECT_EQ(found.non_finite, 2);
  EXPECT_DOUBLE_EQ(found.density(), 3.0 / 16.0);
  Matrix nearly(20, 20);
  for (float& value : nearly.values) value = 1.0f;
  nearly.at(3, 3) = 0.0f;
  EXPECT_EQ(nearly.text(), "dense (1 zeros)");
  EXPECT_EQ(find_patterns(nullptr, 0, 4).density(), 0.0);
  // Walking 2^60 empty rows would never end.
  for (const auto& [rows, columns] : {std::pair{std::int64_t{1} << 60, std::int64_t{0}},
                                      std::pair{std::int64_t{0}, std::int64_t{1} << 60}}) {
    const MatrixPatterns empty = find_patterns(nullptr, rows, columns);
    EXPECT_FALSE(empty.along_rows.two_of_four || empty.along_columns.two_of_four);
    EXPECT_EQ(describe(empty, InputAxis::kUnknown), "empty");
  }
}

// Four columns of each group of M for a strip of V rows, two of them in each row.
Matrix strips(std::int64_t V, std::int64_t M, Random& random) {
  Matrix matrix(128, 32);
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    for (std::int64_t c = 0; c < matrix.columns; c += M) {
      const std::int64_t shift = (r / V) % (M - 3);  // four neighbours, other ones in each strip
      const auto first = static_cast<std::int64_t>(random.integers(1, 0, 3)[0]);
      matrix.at(r, c + shift + first) = 1.0f;
      matrix.at(r, c + shift + (first + 1) % 4) = 2.0f;
    }
  return matrix;
}

TEST(SparsityPatterns, StripsAreFoundWithTheLargestV) {
  SCOPED_TRACE(seed_note());
  Random random;
  for (const std::int64_t V : {16, 32, 64})
    for (const std::int64_t M : {8, 16}) {
      const MatrixPatterns found = strips(V, M, random).patterns();
      ASSERT_FALSE(found.along_rows.strips.empty());
      EXPECT_EQ(found.along_rows.strips.back(), (StripPattern{V, M}));
      EXPECT_TRUE(found.along_rows.two_of_four);
    }
  EXPECT_EQ(strips(64, 16, random).text(InputAxis::kColumns).find("2:4 along in"), 0u);
  EXPECT_NE(strips(64, 16, random).text().find("64:2:16 along rows"), std::string::npos);
}

// One more non-zero in any group that is full breaks the pattern.
TEST(SparsityPatterns, OneExtraNonZeroBreaksIt) {
  SCOPED_TRACE(seed_note());
  Random random;
  for (int round = 0; round < 200; ++round) {
    Matrix matrix = strips(32, 8, random);
    const Values place = random.integers(2, 0, 127);
    const auto r = static_cast<std::int64_t>(place[0]),
               group = static_cast<std::int64_t>(place[1]) % 4;
    std::int64_t c = group * 8;
    while (matrix.at(r, c) != 0.0f) ++c;
    matrix.at(r, c) = 1e-30f;
    EXPECT_EQ(matrix.patterns().along_rows.strips, std::vector<StripPattern>()) << r << " " << c;
  }
  for (int round = 0; round < 200; ++round) {
    Matrix matrix(16, 16);  // transposable: in each 4 x 4 block, two per row and column
    for (std::int64_t r = 0; r < 16; ++r)
      for (std::int64_t c = 0; c < 16; ++c) matrix.at(r, c) = (r + c) % 4 < 2 ? 3.0f : 0.0f;
    ASSERT_TRUE(matrix.patterns().transposable());
    const Values place = random.integers(2, 0, 15);
    auto r = static_cast<std::int64_t>(place[0]), c = static_cast<std::int64_t>(place[1]);
    if (matrix.at(r, c) != 0.0f) c = (c + 2) % 4 + c / 4 * 4;
    ASSERT_EQ(matrix.at(r, c), 0.0f);
    matrix.at(r, c) = -1.0f;
    EXPECT_FALSE(matrix.patterns().along_rows.two_of_four);
    EXPECT_FALSE(matrix.patterns().along_columns.two_of_four);
  }
}

}  // namespace
}  // namespace twill
