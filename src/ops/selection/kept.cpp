// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/kept.h"

#include <limits>

#include "ops/validate.h"

namespace twill {
namespace {

void require_matrix(const char* op, const NamedView& matrix) {
  require(matrix.view.shape().rank() == 2, "[{}] {} must be a matrix, got {}", op, matrix.name,
          to_string(matrix.view.shape()));
}

// Positions are i32.
void require_countable(const char* op, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  require(cols == 0 || rows <= kMax / cols,
          "[{}] the matrix must have fewer than 2^31 elements, got {} x {}", op, rows, cols);
}

void require_list(const char* op, const NamedView& list) {
  require(list.view || list.view.num_elements() == 0, "[{}] {} is missing", op, list.name);
  require_dtype(op, list, DType::kI32);
  require(list.view.shape().rank() == 1, "[{}] {} must have one dimension, got shape {}", op,
          list.name, to_string(list.view.shape()));
}

// Positions of a matrix of `shape`, and one value for each.
void require_kept(const char* op, const KeptPositions& kept, const ConstView& values,
                  const Shape& shape) {
  require_list(op, {"row_begin", kept.row_begin});
  require_list(op, {"column", kept.column});
  require_shape(op, {"row_begin", kept.row_begin}, {shape[0] + 1});
  require_shape(op, {"values", values}, {kept.count()});
  require_countable(op, shape[0], shape[1]);
  require(kept.count() <= shape.num_elements(),
          "[{}] column must have at most the {} elements of the matrix, got {}", op,
          shape.num_elements(), kept.count());
}

}  // namespace

void validate(const FindKeptArgs& args) {
  const char* op = "find_kept";
  require_bytes(op, {"mask", args.mask}, args.mask.shape());
  require_matrix(op, {"mask", args.mask});
  require_list(op, {"row_begin", args.row_begin});
  require_list(op, {"column", args.column});
  require_shape(op, {"row_begin", args.row_begin}, {args.mask.rows() + 1});
  require_countable(op, args.mask.rows(), args.mask.cols());
}

void validate(const GatherKeptArgs& args) {
  const char* op = "gather_kept";
  require_one_float_type(op, {{"dense", args.dense}, {"values", args.values}});
  require_matrix(op, {"dense", args.dense});
  require_kept(op, args.kept, args.values, args.dense.shape());
}

void validate(const ScatterKeptArgs& args) {
  const char* op = "scatter_kept";
  require_one_float_type(op, {{"values", args.values}, {"dense", args.dense}});
  require_matrix(op, {"dense", args.dense});
  require_kept(op, args.kept, args.values, args.dense.shape());
}

void validate(const KeptGradientArgs& args) {
  const char* op = "kept_gradient";
  require_one_float_type(op, {{"dy", args.dy}, {"x", args.x}, {"values", args.values}});
  require_matrix(op, {"dy", args.dy});
  require_matrix(op, {"x", args.x});
  require_shape(op, {"dy", args.dy}, {args.m(), args.dy.shape()[1]});
  require_kept(op, args.kept, args.values, {args.dy.shape()[1], args.cols()});
}

void find_kept(const Context& context, const FindKeptArgs& args) {
  validate(args);
  context.run("find_kept", context.kernels().find_kept, args);
}

void gather_kept(const Context& context, const GatherKeptArgs& args) {
  validate(args);
  context.run("gather_kept", context.kernels().gather_kept, args);
}

void scatter_kept(const Context& context, const ScatterKeptArgs& args) {
  validate(args);
  context.run("scatter_kept", context.kernels().scatter_kept, args);
}

void kept_gradient(const Context& context, const KeptGradientArgs& args) {
  validate(args);
  context.run("kept_gradient", context.kernels().kept_gradient, args);
}

}  // namespace twill
