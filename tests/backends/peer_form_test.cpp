// SPDX-License-Identifier: Apache-2.0
// Every way to tell a library about a product is the same product.
#include "backends/cuda/sparse_products/peer_form.h"

#include <vector>

#include <gtest/gtest.h>

namespace twill::cuda {
namespace {

using Matrix = std::vector<double>;

Matrix numbers(std::int64_t count, int first) {
  Matrix values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((first + 7 * i) % 11 - 5));
  return values;
}

// What a library makes of the descriptions.
Matrix multiplied(const PeerForm& form, const Matrix& a, const Matrix& b) {
  const std::int64_t inner = form.a.transposes ? form.a.rows : form.a.cols;
  Matrix d(static_cast<std::size_t>(form.d.rows * form.d.cols));
  for (std::int64_t row = 0; row < form.d.rows; ++row)
    for (std::int64_t col = 0; col < form.d.cols; ++col)
      for (std::int64_t i = 0; i < inner; ++i)
        d[static_cast<std::size_t>(form.d.at(row, col))] +=
            a[static_cast<std::size_t>(form.a.at(row, i))] *
            b[static_cast<std::size_t>(form.b.at(i, col))];
  return d;
}

// c of ops/products/peer_product.h, by its formula.
Matrix wanted(const PeerSizes& p, const Matrix& structured, const Matrix& other) {
  const bool right = p.side == PackedSide::kRight;
  Matrix c(static_cast<std::size_t>(p.m * p.n));
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const std::int64_t from = right ? j * p.k + k : k * p.m + i;
        const std::int64_t with = right ? i * p.k + k : k * p.n + j;
        sum += structured[static_cast<std::size_t>(from)] * other[static_cast<std::size_t>(with)];
      }
      c[static_cast<std::size_t>(p.transposed ? j * p.m + i : i * p.n + j)] = sum;
    }
  return c;
}

TEST(PeerForm, EveryFormIsTheProduct) {
  for (const PackedSide side : {PackedSide::kRight, PackedSide::kLeft})
    for (const bool transposed : {false, true}) {
      const PeerSizes sizes{.side = side, .m = 3, .n = 5, .k = 4, .transposed = transposed};
      const Matrix structured = numbers(side == PackedSide::kRight ? 5 * 4 : 4 * 3, 2);
      const Matrix other = numbers(side == PackedSide::kRight ? 3 * 4 : 4 * 5, 3);
      const Matrix want = wanted(sizes, structured, other);
      for (const PeerForm& form : peer_forms(sizes)) {
        const bool is_a = form.structured_is_a;
        EXPECT_EQ(multiplied(form, is_a ? structured : other, is_a ? other : structured), want)
            << "side " << static_cast<int>(side) << ", transposed " << transposed
            << ", structured A " << is_a << ", order " << static_cast<int>(form.a.order);
      }
    }
}

// A result of ours leaves one of the forms with all matrices in one order.
TEST(PeerForm, OneFormHasOneOrder) {
  for (const PackedSide side : {PackedSide::kRight, PackedSide::kLeft}) {
    int in_one_order = 0;
    for (const PeerForm& form : peer_forms({.side = side, .m = 16, .n = 32, .k = 64}))
      if (form.a.order == form.b.order && form.b.order == form.d.order) ++in_one_order;
    EXPECT_EQ(in_one_order, 2) << "structured A by columns and B by rows, or the other way round";
  }
}

}  // namespace
}  // namespace twill::cuda
