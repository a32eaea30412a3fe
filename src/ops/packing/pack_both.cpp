// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/pack_both.h"

#include <vector>

#include "ops/validate.h"

namespace twill {

// Each side owes what pack_matrix asks of it.
void validate(const PackBothArgs& args) {
  for (const bool transpose : {false, true}) validate(args.side(transpose), "pack_both");
}

void pack_both(const Context& context, const PackBothArgs& args) {
  pack_weights(context, {.weights = std::span(&args, 1)});
}

void pack_weights(const Context& context, const PackWeightsArgs& args) {
  const KernelTable& kernels = context.kernels();
  std::vector<PackBothArgs> together;
  for (const PackBothArgs& both : args.weights) {
    validate(both);
    require_stored("pack_both", kernels, both.dense);
    for (const bool transpose : {false, true}) {
      const PackMatrixArgs side = both.side(transpose);
      require_packed_storage("pack_both", context, side.storage, side.shape);
    }
    if (kernels.packs_both != nullptr && kernels.packs_both(both)) {
      together.push_back(both);
    } else {
      for (const bool transpose : {false, true}) pack_matrix(context, both.side(transpose));
    }
  }
  if (!together.empty())
    context.run("pack_both", kernels.pack_weights, PackWeightsArgs{.weights = together});
}

}  // namespace twill
