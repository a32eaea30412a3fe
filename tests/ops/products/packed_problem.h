// SPDX-License-Identifier: Apache-2.0
// Packed operands for the tests of the ops that read them: values, masks of every kind that layers
// have, and the storage on a setup.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/packing/packed_matrix.h"
#include "ops/selection/select24.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "support/sparse_data.h"
#include "support/tables.h"

namespace twill {

constexpr std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// P, in its own orientation.
struct PackedOperand {
  PackedShape shape;
  Values dense;
  Values mask = {};        // empty: absent
  bool transpose = false;  // is handed over as Pᵀ

  std::int64_t rows() const { return shape.rows; }
  std::int64_t cols() const { return shape.cols; }
  std::size_t at(std::int64_t row, std::int64_t col) const { return index(row * shape.cols + col); }
  bool is_kept(std::int64_t row, std::int64_t col) const {
    return mask.empty() ? dense[at(row, col)] != 0.0 : mask[at(row, col)] != 0.0;
  }
  std::int64_t kept_in(std::int64_t row) const {
    std::int64_t count = 0;
    for (std::int64_t col = 0; col < cols(); ++col) count += is_kept(row, col);
    return count;
  }
  std::int64_t kept() const {
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < rows(); ++row) count += kept_in(row);
    return count;
  }
};

inline Values transposed(const Values& values, std::int64_t rows, std::int64_t cols) {
  Values turned(values.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols && !values.empty(); ++c)
      turned[index(c * rows + r)] = values[index(r * cols + c)];
  return turned;
}

// An operand packed on a setup. The storage misses no alignment, ends with its last byte and holds
// rubbish at first.
class PackedOn {
 public:
  PackedOn(const Setup& setup, const PackedOperand& operand)
      : setup_(setup),
        shape_(operand.shape),
        kept_(operand.kept()),
        bytes_(packed_bytes(*setup.context(), shape_)),
        storage_(Values(static_cast<std::size_t>(bytes_), 165.0), DType::kU8) {
    pack(operand);
  }

  // Once more, into the same storage.
  void pack(const PackedOperand& operand, bool same_mask = false) {
    const bool turns = operand.transpose;
    const std::int64_t R = operand.rows(), C = operand.cols();
    const Shape shape = turns ? Shape{C, R} : Shape{R, C};
    const Buffer dense = setup_.buffer(turns ? transposed(operand.dense, R, C) : operand.dense);
    const Buffer mask =
        setup_.buffer(turns ? transposed(operand.mask, R, C) : operand.mask, DType::kU8);
    shape_ = operand.shape;
    kept_ = operand.kept();
    pack_matrix(*setup_.context(), {.dense = dense.view(shape),
                                    .mask = optional_view(mask, shape),
                                    .shape = shape_,
                                    .storage = storage_.view({bytes_}),
                                    .transpose = turns,
                                    .same_mask = same_mask});
  }

  PackedMatrix matrix() const { return {shape_, storage_.view({bytes_}), kept_}; }

 private:
  Setup setup_;
  PackedShape shape_;
  std::int64_t kept_;
  std::int64_t bytes_;
  Buffer storage_;
};

enum class MaskKind { kDensity, kUneven, kRow24, kVenom, kTransposable, kTransposableTurned };
inline constexpr MaskKind kMaskKinds[] = {MaskKind::kDensity,      MaskKind::kUneven,
                                          MaskKind::kRow24,        MaskKind::kVenom,
                                          MaskKind::kTransposable, MaskKind::kTransposableTurned};

inline bool is_transposable(MaskKind kind) {
  return kind == MaskKind::kTransposable || kind == MaskKind::kTransposableTurned;
}

inline Values mask_of_density(Random& random, std::int64_t count, double density) {
  Values mask = random.integers(count, 0, 999);
  for (double& value : mask) value = value < 1000.0 * density ? 1.0 : 0.0;
  return mask;
}

// Rows with no entry, one, a few, half of them, all: in no order.
inline Values uneven_mask(Random& random, std::int64_t rows, std::int64_t cols) {
  const Values kinds = random.integers(rows, 0, 4), draws = random.integers(rows * cols, 0, 15);
  const Values only = random.integers(rows, 0, std::max<std::int64_t>(cols - 1, 0));
  Values mask;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / cols, col = static_cast<std::int64_t>(i) % cols;
    const auto r = index(row);
    const bool kept[] = {false, static_cast<double>(col) == only[r], draws[i] < 1.0, draws[i] < 8.0,
                         true};
    mask.push_back(kept[static_cast<std::size_t>(kinds[r])] ? 1.0 : 0.0);
  }
  return mask;
}

// By the ops that make the masks of layers. V is 16: blocks of rows end inside most matrices.
inline Values selected_mask(MaskKind kind, const Values& x, const Shape& shape) {
  const Context reference(reference_table(), 1);
  const Buffer x_in(x, DType::kF32);
  const Buffer mask(mask_rubbish(shape.num_elements()), DType::kU8);
  if (kind == MaskKind::kRow24)
    select24(reference, {.x = x_in.view(shape), .mask = mask.view(shape)});
  if (kind == MaskKind::kVenom)
    venom_select(reference, {.x = x_in.view(shape), .mask = mask.view(shape), .v = 16});
  if (is_transposable(kind))
    transposable24(reference, {.x = x_in.view(shape), .mask = mask.view(shape)});
  return mask.values();
}

// A kept entry in sixteen is 0. What is not kept is NaN: nobody may read it.
inline PackedOperand random_operand(Random& random, MaskKind kind, std::int64_t rows,
                                    std::int64_t cols, double density = 0.5) {
  const auto multiple_of_4 = [](std::int64_t size) { return (size + 3) / 4 * 4; };
  if (is_transposable(kind)) rows = multiple_of_4(rows);
  if (is_transposable(kind) || kind == MaskKind::kRow24) cols = multiple_of_4(cols);
  PackedOperand operand{.shape = {.rows = rows, .cols = cols}, .dense = random.normal(rows * cols)};
  operand.mask = kind == MaskKind::kDensity  ? mask_of_density(random, rows * cols, density)
                 : kind == MaskKind::kUneven ? uneven_mask(random, rows, cols)
                                             : selected_mask(kind, operand.dense, {rows, cols});
  const Values zeros = random.integers(rows * cols, 0, 15);
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    if (zeros[i] == 0.0) operand.dense[i] = 0.0;
    if (operand.mask[i] == 0.0) operand.dense[i] = std::numeric_limits<double>::quiet_NaN();
  }
  if (is_transposable(kind))
    operand.shape.pattern = PackedPattern::kTransposable24;
  else
    operand.shape.max_kept = operand.kept();  // not one to spare
  operand.transpose = kind == MaskKind::kTransposableTurned;
  return operand;
}

// Σ terms, and the error that packed products may have in units of eps: (kept + 3) Σ|terms|.
struct PackedSum {
  double value = 0.0;
  double size = 0.0;
  std::int64_t kept = 0;

  void add(double term) {
    value += term;
    size += std::abs(term);
  }
  void add_kept(double term) {
    add(term);
    ++kept;
  }
  double error() const { return static_cast<double>(kept + 3) * size; }
};

}  // namespace twill
