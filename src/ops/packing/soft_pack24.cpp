// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/soft_pack24.h"

#include "ops/validate.h"

namespace twill {

void validate(const SoftPack24Args& args) {
  require(static_cast<bool>(args.projected), "[soft_pack24] projected is missing");
  validate(args.projection(), "soft_pack24");
  validate(args.packing(), "soft_pack24");
}

void soft_pack24(const Context& context, const SoftPack24Args& args) {
  validate(args);
  const KernelTable& kernels = context.kernels();
  require_stored("soft_pack24", kernels, args.projected);
  require_packed_storage("soft_pack24", context, args.storage, args.shape);
  if (kernels.fuses_soft_pack == nullptr || !kernels.fuses_soft_pack(args)) {
    soft_threshold24(context, args.projection());
    pack_matrix(context, args.packing());
    return;
  }
  context.run("soft_pack24", kernels.soft_pack24, args);
}

}  // namespace twill
