// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/venom.h"

#include <algorithm>
#include <vector>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/selection/best_first.h"
#include "backends/reference/selection/magnitude.h"

namespace twill::reference {
namespace {

std::int64_t at_position(const ConstView& order, std::int64_t position) {
  return order ? order.as<std::int32_t>()[position] : position;
}

// The matrix as the pattern sees it: position (p, q) is row p and column q of the pattern.
struct Grid {
  explicit Grid(const VenomSelectArgs& given)
      : args(given), is_row(args.along == GroupAxis::kWithinRow), C(args.x.shape()[1]) {}

  std::int64_t num_rows() const { return args.x.shape()[is_row ? 0 : 1]; }
  std::int64_t num_columns() const { return args.x.shape()[is_row ? 1 : 0]; }
  std::int64_t index(std::int64_t p, std::int64_t q) const {
    return at_position(args.row_order, is_row ? p : q) * C +
           at_position(args.column_order, is_row ? q : p);
  }

  const VenomSelectArgs& args;
  bool is_row;
  std::int64_t C;
};

// The first `count` of `positions` by value, best first; of equal ones the lowest position.
template <class Value>
std::vector<std::int64_t> best(std::vector<std::int64_t> positions, std::int64_t count,
                               const Value& value) {
  sort_best_first(positions, value);
  positions.resize(std::min(positions.size(), static_cast<std::size_t>(count)));
  return positions;
}

// Rows [p0, p1), columns [q0, q1) of the pattern. `survives` has one flag per element.
template <class T>
void select_block(const Grid& grid, std::int64_t p0, std::int64_t p1, std::int64_t q0,
                  std::int64_t q1, std::vector<bool>& survives) {
  const T* x = grid.args.x.as<T>();
  const auto score = [&](std::int64_t q) {
    T sum = 0;
    for (std::int64_t p = p0; p < p1; ++p) sum += magnitude(x[grid.index(p, q)]);
    return sum;
  };
  std::vector<std::int64_t> window;
  for (std::int64_t q = q0; q < q1; ++q) window.push_back(q);
  std::vector<std::int64_t> columns = best(window, 4, score);
  std::sort(columns.begin(), columns.end());

  for (std::int64_t p = p0; p < p1; ++p) {
    const auto size = [&](std::int64_t q) { return magnitude(x[grid.index(p, q)]); };
    for (const std::int64_t q : columns)
      survives[static_cast<std::size_t>(grid.index(p, q))] = true;
    for (const std::int64_t q : best(columns, 2, size))
      if (size(q) > 0) grid.args.mask.as<std::uint8_t>()[grid.index(p, q)] = 1;
  }
}

template <class T>
void sum_mass(const Grid& grid, const std::vector<bool>& survives) {
  double* mass = grid.args.mass.as<double>();
  std::fill_n(mass, 3, 0.0);
  for (std::int64_t p = 0; p < grid.num_rows(); ++p) {
    double row[3] = {};
    for (std::int64_t q = 0; q < grid.num_columns(); ++q) {
      const std::int64_t i = grid.index(p, q);
      const double size = magnitude(grid.args.x.as<T>()[i]);
      row[0] += size;
      if (survives[static_cast<std::size_t>(i)]) row[1] += size;
      if (grid.args.mask.as<std::uint8_t>()[i] != 0) row[2] += size;
    }
    for (int k = 0; k < 3; ++k) mass[k] += row[k];
  }
}

template <class T>
void run(const VenomSelectArgs& args) {
  const Grid grid(args);
  const std::int64_t P = grid.num_rows(), Q = grid.num_columns();
  std::fill_n(args.mask.as<std::uint8_t>(), P * Q, std::uint8_t{0});
  std::vector<bool> survives(static_cast<std::size_t>(P * Q));
  for (std::int64_t p = 0; p < P; p += args.v)
    for (std::int64_t q = 0; q < Q; q += args.m)
      select_block<T>(grid, p, std::min(P, p + args.v), q, std::min(Q, q + args.m), survives);
  if (args.mass) sum_mass<T>(grid, survives);
}

}  // namespace

void venom_select(const VenomSelectArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
