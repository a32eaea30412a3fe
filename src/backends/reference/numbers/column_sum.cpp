// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/column_sum.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {

void column_sum(const ColumnSumArgs& args, const Device&, Queue&) {
  with_element_type(args.sum.dtype(), [&]<class T>(T) {
    const T* x = args.x.as<T>();
    T* sum = args.sum.as<T>();
    const std::int64_t cols = args.x.cols();
    for (std::int64_t c = 0; c < cols; ++c) {
      double total = args.accumulate ? sum[c] : T{0};
      for (std::int64_t r = 0; r < args.x.rows(); ++r) total += x[r * cols + c];
      sum[c] = static_cast<T>(total);
    }
  });
}

}  // namespace twill::reference
