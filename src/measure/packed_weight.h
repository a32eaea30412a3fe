// SPDX-License-Identifier: Apache-2.0
// A weight packed for one product, with the memory it is packed into.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "ops/packing/packed_matrix.h"
#include "tensor/tensor.h"

namespace twill {

// How it is packed.
struct WeightPacking {
  PackedPattern pattern = PackedPattern::kAny;
  DType type = DType::kF32;  // of the values
  bool transpose = false;
  std::int64_t kept = 0;  // entries of the mask
};

class PackedWeight {
 public:
  // Packs it. `weight` and `mask` (outputs, inputs) outlive it.
  PackedWeight(const Context& context, const WeightPacking& packing, ConstView weight,
               ConstView mask);

  void pack(bool same_mask);
  PackedMatrix matrix() const {
    return {.shape = shape_, .storage = storage_.view(), .kept = packing_.kept};
  }

 private:
  const Context& context_;
  WeightPacking packing_;
  ConstView weight_, mask_;
  PackedShape shape_;
  Tensor storage_;
};

}  // namespace twill
