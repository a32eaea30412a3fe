// SPDX-License-Identifier: Apache-2.0
#include "measure/packed_weight.h"

namespace twill {

PackedWeight::PackedWeight(const Context& context, const WeightPacking& packing, ConstView weight,
                           ConstView mask)
    : context_(context),
      packing_(packing),
      weight_(weight),
      mask_(mask),
      shape_{.pattern = packing.pattern,
             .rows = weight.shape()[packing.transpose ? 1 : 0],
             .cols = weight.shape()[packing.transpose ? 0 : 1],
             .max_kept = packing.kept,
             .type = packing.type},
      storage_(DType::kU8, {packed_bytes(context, shape_)}, context.memory()) {
  pack(/*same_mask=*/false);
}

void PackedWeight::pack(bool same_mask) {
  pack_matrix(context_, {.dense = weight_,
                         .mask = mask_,
                         .shape = shape_,
                         .storage = storage_.view(),
                         .transpose = packing_.transpose,
                         .same_mask = same_mask});
}

}  // namespace twill
