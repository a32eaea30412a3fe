// SPDX-License-Identifier: Apache-2.0
#include "ops/update/masked_decay.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {

void masked_decay(const MaskedDecayArgs& args, const Device&, Queue&) {
  with_element_type(args.target.dtype(), [&]<class T>(T) {
    // In the storage type, because the bits of f32 are part of the contract.
    const T scale = static_cast<T>(args.scale), rate = static_cast<T>(args.rate);
    T* target = args.target.as<T>();
    for (std::int64_t i = 0; i < args.target.num_elements(); ++i) {
      const T pull = rate * args.weight.as<T>()[i];
      const bool kept = args.mask.as<std::uint8_t>()[i] != 0;
      target[i] = kept ? scale * target[i] : scale * target[i] + pull;
    }
  });
}

}  // namespace twill::reference
