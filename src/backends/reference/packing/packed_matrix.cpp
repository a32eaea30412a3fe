// SPDX-License-Identifier: Apache-2.0
// Nothing is left out: all values, each with a byte that says whether it is kept.
#include "backends/reference/packing/packed_storage.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {

std::int64_t packed_bytes(const PackedShape& shape, const Device&) {
  return shape.rows * shape.cols * static_cast<std::int64_t>(sizeof(double) + 1);
}

void pack_matrix(const PackMatrixArgs& args, const Device&, Queue&) {
  const auto* mask = data_or_null<std::uint8_t>(args.mask);
  const PackedStorage packed(args.shape, args.storage);
  with_element_type(args.dense.dtype(), [&]<class T>(T) {
    for (std::int64_t r = 0; r < args.shape.rows; ++r) {
      for (std::int64_t c = 0; c < args.shape.cols; ++c) {
        const std::int64_t from =
            args.transpose ? c * args.shape.rows + r : r * args.shape.cols + c;
        const double value = args.dense.as<T>()[from];
        const bool keep = mask != nullptr ? mask[from] != 0 : value != 0.0;
        packed.set(r, c, value, keep);
      }
    }
  });
}

void unpack_matrix(const UnpackMatrixArgs& args, const Device&, Queue&) {
  const PackedStorage packed(args.packed.shape, args.packed.storage);
  with_element_type(args.dense.dtype(), [&]<class T>(T) {
    for (std::int64_t r = 0; r < args.packed.shape.rows; ++r)
      for (std::int64_t c = 0; c < args.packed.shape.cols; ++c)
        args.dense.as<T>()[r * args.packed.shape.cols + c] =
            packed.is_kept(r, c) ? static_cast<T>(packed.value(r, c)) : T{0};
  });
}

}  // namespace twill::reference
