// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/activation_sample.h"

#include "ops/validate.h"

namespace twill {
namespace {

PackSampleArgs of_dx(const ActivationSampleArgs& args) {
  PackSampleArgs pack = args.pack;
  pack.x = args.activation.dx;
  return pack;
}

}  // namespace

void validate(const ActivationSampleArgs& args) {
  validate(args.activation);
  require(!args.pack.x || args.pack.x.bytes() == args.activation.dx.bytes(),
          "[activation_sample] what is packed must be dx");
  validate(of_dx(args));
}

void activation_sample(const Context& context, const ActivationSampleArgs& args) {
  validate(args);
  const KernelTable& kernels = context.kernels();
  const std::int64_t bytes = packed_bytes(context, args.pack.shape);
  const bool fits = bytes > 0 && args.pack.storage.num_bytes() >= bytes;
  if (fits && kernels.fuses_activation_sample != nullptr && kernels.fuses_activation_sample(args))
    return context.run("activation_sample", kernels.activation_sample, args);
  activation_backward(context, args.activation);
  pack_sample(context, of_dx(args));
}

}  // namespace twill
