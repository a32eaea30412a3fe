// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/sum.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {

void sum(const SumArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) {
    const T* x = args.x.as<T>();
    double total = 0.0;
    for (std::int64_t i = 0; i < args.x.num_elements(); ++i) total += double{x[i]};
    double& kept = *args.sum.as<double>();
    kept = args.scale * total + (args.accumulate ? kept : 0.0);
  });
}

}  // namespace twill::reference
