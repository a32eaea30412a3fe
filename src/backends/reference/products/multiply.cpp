// SPDX-License-Identifier: Apache-2.0
// Any product: both sides decoded to f64, multiplied naively, finished.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/kernels.h"
#include "backends/reference/numbers/emit.h"
#include "backends/reference/packing/packed_storage.h"
#include "base/require.h"
#include "ops/products/product.h"

namespace twill::reference {
namespace {

class Side {
 public:
  Side(const Operand& operand, bool transposed)
      : cols_(operand.cols),
        transposed_(transposed),
        values_(static_cast<std::size_t>(operand.rows * operand.cols)),
        kept_(values_.size()) {
    if (operand.layout == packed())
      decode_packed(operand);
    else
      operand.layout->decode(operand, {.values = values_.data(), .kept = kept_.data()});
  }
  // Of the side as the product reads it, behind its transposition.
  double value(std::int64_t i, std::int64_t j) const { return values_[at(i, j)]; }
  bool is_kept(std::int64_t i, std::int64_t j) const { return kept_[at(i, j)] != 0; }

 private:
  void decode_packed(const Operand& operand) {
    const PackedStorage storage(operand.packed, operand.data);
    for (std::int64_t i = 0; i < operand.rows; ++i)
      for (std::int64_t j = 0; j < operand.cols; ++j) {
        const auto index = static_cast<std::size_t>(i * operand.cols + j);
        values_[index] = storage.value(i, j);
        kept_[index] = storage.is_kept(i, j);
      }
  }
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(transposed_ ? j * cols_ + i : i * cols_ + j);
  }

  std::int64_t cols_;
  bool transposed_;
  std::vector<double> values_;
  std::vector<std::uint8_t> kept_;
};

// [begin, end) of K.
struct Stretch {
  std::int64_t begin, end;
};

class Multiplication {
 public:
  explicit Multiplication(const Product& product)
      : product_(product),
        a_(product.a, product.trans_a),
        b_(product.b, product.trans_b),
        scale_(double{product.a.scale.now()} * double{product.b.scale.now()}) {}

  void run(const Device& device, Queue& queue) {
    switch (product_.parts.kind) {
      case Parts::Kind::kAll:
        fill(0, product_.m(), 0, product_.n(), {{0, product_.k()}}, 0, 0);
        activate(0, product_.m(), 0, product_.n(), device, queue);
        break;
      case Parts::Kind::kRowGroups:
        for (std::int64_t g = 0; g < product_.parts.groups(); ++g)
          fill(list(g), list(g + 1), 0, product_.n(), {{0, product_.k()}}, g, 0);
        activate(list(0), list(product_.parts.groups()), 0, product_.n(), device, queue);
        break;
      case Parts::Kind::kDepthGroups:
        for (std::int64_t g = 0; g < product_.parts.groups(); ++g)
          fill(0, product_.m(), 0, product_.n(), {{list(g), list(g + 1)}}, 0, g);
        break;
      case Parts::Kind::kLiveColumns:
        for_each_row_tile([&](std::int64_t row, std::int64_t end, std::int64_t t) {
          for (std::int64_t i = list(t); i < list(t + 1); ++i) {
            const Stretch columns = tile(i, product_.n());
            fill(row, end, columns.begin, columns.end, {{0, product_.k()}}, 0, 0);
            activate(row, end, columns.begin, columns.end, device, queue);
          }
        });
        break;
      case Parts::Kind::kLiveDepth:
        for_each_row_tile([&](std::int64_t row, std::int64_t end, std::int64_t t) {
          std::vector<Stretch> live;
          for (std::int64_t i = list(t); i < list(t + 1); ++i)
            live.push_back(tile(i, product_.k()));
          fill(row, end, 0, product_.n(), live, 0, 0);
          activate(row, end, 0, product_.n(), device, queue);
        });
        break;
      case Parts::Kind::kKeptEntries:
        fill_kept();
        break;
    }
    emit_copies(product_.c, product_.epilogue.emits);
    if (product_.epilogue.sums) sum_columns();
  }

 private:
  std::int64_t list(std::int64_t i) const { return product_.parts.begin.as<std::int32_t>()[i]; }
  Stretch tile(std::int64_t i, std::int64_t extent) const {
    const std::int64_t depth = product_.parts.tile_depth;
    const std::int64_t begin = product_.parts.tiles.as<std::int32_t>()[i] * depth;
    return {begin, std::min(extent, begin + depth)};
  }
  template <class Body>
  void for_each_row_tile(const Body& body) const {
    const std::int64_t rows = product_.parts.tile_rows;
    for (std::int64_t t = 0; t < product_.parts.groups(); ++t)
      body(t * rows, std::min(product_.m(), (t + 1) * rows), t);
  }

  double sum(std::int64_t i, std::int64_t j, const std::vector<Stretch>& depth,
             std::int64_t group) const {
    double total = 0.0;
    for (const Stretch& stretch : depth)
      for (std::int64_t k = stretch.begin; k < stretch.end; ++k) {
        // Of stacked matrices the g-th stands below the others, along K or along N.
        const std::int64_t row = product_.trans_b ? k : group * product_.k() + k;
        const std::int64_t col = product_.trans_b ? group * product_.n() + j : j;
        if (a_.is_kept(i, k) && b_.is_kept(row, col)) total += a_.value(i, k) * b_.value(row, col);
      }
    return total * scale_;
  }

  // Where the sums go: an activation follows behind them.
  View target() const {
    return product_.epilogue.f == GemmEpilogue::kActivation ? product_.epilogue.before : product_.c;
  }

  void fill(std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end,
            const std::vector<Stretch>& depth, std::int64_t b_group, std::int64_t c_group) const {
    const Epilogue& epilogue = product_.epilogue;
    const std::int64_t M = product_.m(), N = product_.n();
    const View to = target();
    for (std::int64_t i = row; i < row_end; ++i)
      for (std::int64_t j = col; j < col_end; ++j) {
        const std::int64_t at = product_.trans_c ? j * M + i : (c_group * M + i) * N + j;
        double total = sum(i, j, depth, b_group);
        if (epilogue.bias) total += number_at(epilogue.bias, j);
        if (epilogue.addend) total += number_at(epilogue.addend, i * N + j);
        if (product_.accumulates) total += number_at(to, at);
        store_number(to, at, total);
      }
  }

  void fill_kept() const {
    const KeptPositions& kept = product_.parts.kept;
    const std::vector<Stretch> all{{0, product_.k()}};
    for (std::int64_t row = 0; row < kept.rows(); ++row)
      for (std::int32_t at = kept.row_begin.as<std::int32_t>()[row];
           at < kept.row_begin.as<std::int32_t>()[row + 1]; ++at) {
        const double total = sum(row, kept.column.as<std::int32_t>()[at], all, 0);
        store_number(product_.c, at,
                     product_.accumulates ? total + number_at(product_.c, at) : total);
      }
  }

  // The activation of what was filled, row by row, so that it touches nothing else.
  void activate(std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end,
                const Device& device, Queue& queue) const {
    const Epilogue& epilogue = product_.epilogue;
    if (epilogue.f == GemmEpilogue::kNone) return;
    const std::int64_t N = product_.n(), out = product_.c.cols();
    const std::int64_t width = col_end - col, out_col = out == N ? col : 0;
    const std::int64_t out_width = out == N ? width : out;
    for (std::int64_t i = row; i < row_end; ++i) {
      const View before = epilogue.before.slice(i * N + col, width).reshaped({1, width});
      const View c = product_.c.slice(i * out + out_col, out_width).reshaped({1, out_width});
      if (epilogue.f == GemmEpilogue::kActivation)
        activation_forward({.kind = epilogue.activation,
                            .x = before,
                            .y = c,
                            .slope = epilogue.keeps_slope ? before : View()},
                           device, queue);
      else
        multiply_by_slope(before, c, device, queue);
    }
  }

  void multiply_by_slope(View before, View c, const Device& device, Queue& queue) const {
    const Epilogue& epilogue = product_.epilogue;
    if (!epilogue.keeps_slope)
      return activation_backward({.kind = epilogue.activation, .x = before, .dy = c, .dx = c},
                                 device, queue);
    for (std::int64_t i = 0; i < c.num_elements(); ++i)
      store_number(c, i, number_at(c, i) * number_at(before, i));
  }

  // Of what is stored, whatever its type.
  void sum_columns() const {
    const Epilogue& epilogue = product_.epilogue;
    const std::int64_t cols = product_.c.cols();
    for (std::int64_t j = 0; j < cols; ++j) {
      double total = epilogue.accumulates_sums ? number_at(epilogue.sums, j) : 0.0;
      for (std::int64_t i = 0; i < product_.c.rows(); ++i)
        total += number_at(product_.c, i * cols + j);
      store_number(epilogue.sums, j, total);
    }
  }

  const Product& product_;
  Side a_, b_;
  double scale_;
};

}  // namespace

void multiply(const Product& product, const Device& device, Queue& queue) {
  const Verdict verdict = judge(product, device, queue);
  require(verdict.runs, "[product] {}", verdict.reason);
  Multiplication(product).run(device, queue);
}

}  // namespace twill::reference
