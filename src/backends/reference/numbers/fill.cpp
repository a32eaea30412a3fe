// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/fill.h"

#include <algorithm>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {

void fill(const FillArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) {
    std::fill_n(args.x.as<T>(), args.x.num_elements(), static_cast<T>(args.value));
  });
}

}  // namespace twill::reference
