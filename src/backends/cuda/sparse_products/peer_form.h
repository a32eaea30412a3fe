// SPDX-License-Identifier: Apache-2.0
// The ways to tell a library D = op(A) op(B) about a product of ops/products/peer_product.h, whose operands stay
// where they lie: which of the two operands the structured one is, and whether a matrix in memory is
// called row-major or, with rows and columns exchanged, column-major. Plain functions, so that a test
// can multiply by them without a GPU.
#pragma once

#include <array>
#include <cstdint>

#include "ops/packing/packed_matrix.h"

namespace twill::cuda {

enum class MatrixOrder : std::uint8_t { kColumns, kRows };

struct PeerMatrix {
  std::int64_t rows = 0, cols = 0;
  std::int64_t leading = 0;  // elements between neighbours along the other dimension
  MatrixOrder order = MatrixOrder::kColumns;
  bool transposes = false;  // what is multiplied is its transposed

  // Where entry (row, col) of what is multiplied lies.
  constexpr std::int64_t at(std::int64_t row, std::int64_t col) const {
    const std::int64_t r = transposes ? col : row, c = transposes ? row : col;
    return order == MatrixOrder::kRows ? r * leading + c : c * leading + r;
  }
};

struct PeerSizes {
  PackedSide side = PackedSide::kRight;
  std::int64_t m = 0, n = 0, k = 0;
  bool transposed = false;  // the result
};

struct PeerForm {
  PeerMatrix a, b, d;
  bool structured_is_a = true;
};

namespace detail {

// Memory holds `outer` runs of `inner` elements: a row-major matrix X, or Xᵀ where that is what is meant.
constexpr PeerMatrix peer_operand(std::int64_t outer, std::int64_t inner, bool is_transposed,
                                  MatrixOrder order) {
  if (order == MatrixOrder::kRows) return {outer, inner, inner, order, is_transposed};
  return {inner, outer, inner, order, !is_transposed};
}

// A result is written as it is: its order follows from memory.
constexpr PeerMatrix peer_result(std::int64_t outer, std::int64_t inner, bool is_transposed) {
  if (!is_transposed) return {outer, inner, inner, MatrixOrder::kRows, false};
  return {inner, outer, inner, MatrixOrder::kColumns, false};
}

}  // namespace detail

constexpr PeerForm peer_form(const PeerSizes& p, bool structured_is_a, MatrixOrder order) {
  const bool right = p.side == PackedSide::kRight;
  // c = x Pᵀ has its structured operand behind, c = P b in front; the other form computes cᵀ.
  const bool computes_transposed = right == structured_is_a;
  // P lies as P where it is a weight, as Pᵀ where it is a sample; A is P, B is Pᵀ.
  const bool structured_turns = right != structured_is_a;
  const PeerMatrix structured =
      detail::peer_operand(right ? p.n : p.k, right ? p.k : p.m, structured_turns, order);
  const PeerMatrix other =
      detail::peer_operand(right ? p.m : p.k, right ? p.k : p.n, computes_transposed, order);
  return {.a = structured_is_a ? structured : other,
          .b = structured_is_a ? other : structured,
          .d = detail::peer_result(p.transposed ? p.n : p.m, p.transposed ? p.m : p.n,
                                   computes_transposed != p.transposed),
          .structured_is_a = structured_is_a};
}

// All of them; libraries differ in what they like, and so do shapes.
constexpr std::array<PeerForm, 4> peer_forms(const PeerSizes& sizes) {
  return {peer_form(sizes, true, MatrixOrder::kColumns),
          peer_form(sizes, false, MatrixOrder::kColumns),
          peer_form(sizes, true, MatrixOrder::kRows), peer_form(sizes, false, MatrixOrder::kRows)};
}

}  // namespace twill::cuda
