// SPDX-License-Identifier: Apache-2.0
#include "ops/pack_both.h"

#include "ops/validate.h"

namespace twill {

// Each side owes what pack_matrix asks of it.
void validate(const PackBothArgs& args) {
  for (const bool transpose : {false, true}) validate(args.side(transpose), "pack_both");
}

void pack_both(const Context& context, const PackBothArgs& args) {
  validate(args);
  const KernelTable& kernels = context.kernels();
  require_stored("pack_both", kernels, args.dense);
  for (const bool transpose : {false, true}) {
    const PackMatrixArgs side = args.side(transpose);
    require_packed_storage("pack_both", context, side.storage, side.shape);
  }
  if (kernels.packs_both == nullptr || !kernels.packs_both(args)) {
    for (const bool transpose : {false, true}) pack_matrix(context, args.side(transpose));
    return;
  }
  context.run("pack_both", kernels.pack_both, args);
}

}  // namespace twill
