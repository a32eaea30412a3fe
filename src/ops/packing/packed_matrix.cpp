// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/packed_matrix.h"

#include "ops/validate.h"

namespace twill {
namespace {

void require_shape_of_pattern(const char* op, const PackedShape& shape) {
  if (shape.pattern != PackedPattern::kTransposable24) return;
  require(shape.rows % 4 == 0 && shape.cols % 4 == 0,
          "[{}] a transposable 2:4 matrix has rows and columns in multiples of 4, got {} x {}", op,
          shape.rows, shape.cols);
}

}  // namespace

bool packs_matrices(const Context& context, DType type) {
  const PackedShape friendly{.pattern = PackedPattern::kTransposable24,
                             .rows = 64,
                             .cols = 64,
                             .max_kept = 64 * 64,
                             .type = type};
  return context.kernels().packed_bytes != nullptr && packed_bytes(context, friendly) > 0;
}

bool packs_any_mask(const Context& context) {
  return packs_matrices(context) && context.kernels().packs_any_mask;
}

double slowed_by_packed(const Context& context) {
  const auto slowed = context.kernels().slowed_by_packed;
  return slowed == nullptr ? 0.0 : slowed(context.device());
}

std::int64_t packed_bytes(const Context& context, const PackedShape& shape) {
  require(context.kernels().packed_bytes != nullptr,
          "[packed_bytes] the {} backend has no packed products", context.kernels().name);
  return context.kernels().packed_bytes(shape, context.device());
}

void validate(const PackMatrixArgs& args, const char* op) {
  require_float_types(op, {{"dense", args.dense}}, {});
  require(args.dense.shape().rank() == 2, "[{}] dense must have two dimensions, got {}", op,
          to_string(args.dense.shape()));
  require_bytes(op, {"mask", args.mask, true}, args.dense.shape());
  const PackedShape& shape = args.shape;
  require_shape(op, {"dense", args.dense},
                args.transpose ? Shape{shape.cols, shape.rows} : Shape{shape.rows, shape.cols});
  require_shape_of_pattern(op, shape);
  require_dtype(op, {"storage", args.storage}, DType::kU8);
}

void validate(const UnpackMatrixArgs& args) {
  require_float_types("unpack_matrix", {{"dense", args.dense}}, {});
  require(args.dense.shape().rank() == 2, "[unpack_matrix] dense must have two dimensions, got {}",
          to_string(args.dense.shape()));
  // Into f32 from any type.
  const DType type =
      args.dense.dtype() == DType::kF32 ? args.packed.shape.type : args.dense.dtype();
  require_packed("unpack_matrix", args.packed, args.dense.rows(), args.dense.cols(), type);
}

void pack_matrix(const Context& context, const PackMatrixArgs& args) {
  validate(args);
  require_stored("pack_matrix", context.kernels(), args.dense);
  require_packed_storage("pack_matrix", context, args.storage, args.shape);
  context.run("pack_matrix", context.kernels().pack_matrix, args);
}

void unpack_matrix(const Context& context, const UnpackMatrixArgs& args) {
  validate(args);
  require_stored("unpack_matrix", context.kernels(), args.dense);
  context.run("unpack_matrix", context.kernels().unpack_matrix, args);
}

void require_packed_storage(const char* op, const Context& context, ConstView storage,
                            const PackedShape& shape) {
  const std::int64_t bytes = packed_bytes(context, shape);
  require(bytes > 0 || shape.rows * shape.cols == 0,
          "[{}] the {} backend does not pack a matrix of {} x {} like this", op,
          context.kernels().name, shape.rows, shape.cols);
  require(storage.num_bytes() >= bytes, "[{}] storage must have {} bytes, got {}", op, bytes,
          storage.num_bytes());
}

void require_packed(const char* op, const PackedMatrix& packed, std::int64_t rows,
                    std::int64_t cols, DType type) {
  require(static_cast<bool>(packed), "[{}] the packed matrix is missing", op);
  require_dtype(op, {"storage", packed.storage}, DType::kU8);
  require(packed.shape.rows == rows && packed.shape.cols == cols,
          "[{}] the packed matrix must be {} x {}, got {} x {}", op, rows, cols, packed.shape.rows,
          packed.shape.cols);
  require(type == packed.shape.type || type == DType::kF64,
          "[{}] the packed matrix must hold {} like the other operand, got {}", op, name_of(type),
          name_of(packed.shape.type));
}

}  // namespace twill
