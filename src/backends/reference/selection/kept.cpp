// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/kept.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "base/require.h"

namespace twill::reference {
namespace {

// body(row, column, index) for every kept entry.
template <class Body>
void for_each_kept(const KeptPositions& kept, const Body& body) {
  const std::int32_t* row_begin = kept.row_begin.as<std::int32_t>();
  for (std::int64_t row = 0; row < kept.rows(); ++row)
    for (std::int64_t i = row_begin[row]; i < row_begin[row + 1]; ++i)
      body(row, std::int64_t{kept.column.as<std::int32_t>()[i]}, i);
}

}  // namespace

void find_kept(const FindKeptArgs& args, const Device&, Queue&) {
  const std::int64_t R = args.mask.rows(), C = args.mask.cols();
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  std::int32_t* row_begin = args.row_begin.as<std::int32_t>();
  row_begin[0] = 0;
  for (std::int64_t row = 0; row < R; ++row) {
    row_begin[row + 1] = row_begin[row];
    for (std::int64_t c = 0; c < C; ++c) row_begin[row + 1] += mask[row * C + c] != 0;
  }
  require(row_begin[R] <= args.column.num_elements(),
          "[find_kept] column must hold the {} kept entries of mask, got {}", row_begin[R],
          args.column.num_elements());
  std::int32_t* column = args.column.as<std::int32_t>();
  for (std::int64_t i = 0; i < R * C; ++i)
    if (mask[i] != 0) *column++ = static_cast<std::int32_t>(i % C);
}

void gather_kept(const GatherKeptArgs& args, const Device&, Queue&) {
  with_element_type(args.values.dtype(), [&]<class T>(T) {
    for_each_kept(args.kept, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
      const T entry = args.dense.as<T>()[row * args.dense.cols() + column];
      T& value = args.values.as<T>()[i];
      value = args.accumulate ? value + entry : entry;
    });
  });
}

void scatter_kept(const ScatterKeptArgs& args, const Device&, Queue&) {
  with_element_type(args.values.dtype(), [&]<class T>(T) {
    for_each_kept(args.kept, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
      args.dense.as<T>()[row * args.dense.cols() + column] = args.values.as<T>()[i];
    });
  });
}

void kept_gradient(const KeptGradientArgs& args, const Device&, Queue&) {
  const std::int64_t R = args.kept.rows(), C = args.cols();
  with_element_type(args.values.dtype(), [&]<class T>(T) {
    for_each_kept(args.kept, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
      T& value = args.values.as<T>()[i];
      double sum = args.accumulate ? double{value} : 0.0;
      for (std::int64_t token = 0; token < args.m(); ++token)
        sum +=
            double{args.dy.as<T>()[token * R + row]} * double{args.x.as<T>()[token * C + column]};
      value = static_cast<T>(sum);
    });
  });
}

}  // namespace twill::reference
