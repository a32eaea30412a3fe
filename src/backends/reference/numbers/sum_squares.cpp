// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/sum_squares.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {

void sum_squares(const SumSquaresArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) {
    const T* x = args.x.as<T>();
    double sum = 0.0;
    for (std::int64_t i = 0; i < args.x.num_elements(); ++i) sum += double{x[i]} * double{x[i]};
    args.sum.as<double>()[0] = sum;
  });
}

}  // namespace twill::reference
