// SPDX-License-Identifier: Apache-2.0
#include "ops/packed_times.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/packed_storage.h"

namespace twill::reference {

void packed_times(const PackedTimesArgs& args, const Device&, Queue&) {
  const PackedStorage packed(args.packed.shape, args.packed.storage);
  const std::int64_t N = args.n();
  with_element_type(args.c.dtype(), [&]<class T>(T) {
    T* c = args.c.as<T>();
    for (std::int64_t i = 0; i < args.m(); ++i) {
      for (std::int64_t j = 0; j < N; ++j) {
        double total = 0.0;
        for (std::int64_t k = 0; k < args.k(); ++k)
          if (packed.is_kept(i, k)) total += packed.value(i, k) * double{args.b.as<T>()[k * N + j]};
        if (args.accumulate) total += c[i * N + j];
        c[i * N + j] = static_cast<T>(total);
      }
    }
  });
}

}  // namespace twill::reference
