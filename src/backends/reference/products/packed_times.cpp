// SPDX-License-Identifier: Apache-2.0
#include "ops/products/packed_times.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/packing/packed_storage.h"

namespace twill::reference {

void packed_times(const PackedTimesArgs& args, const Device&, Queue&) {
  const PackedStorage packed(args.packed.shape, args.packed.storage);
  const std::int64_t M = args.m(), N = args.n(), K = args.k();
  with_element_type(args.c.dtype(), [&]<class T>(T) {
    const T* b = args.b.as<T>();
    for (std::int64_t i = 0; i < M; ++i) {
      for (std::int64_t j = 0; j < N; ++j) {
        T& c = args.c.as<T>()[args.trans_c ? j * M + i : i * N + j];
        double total = 0.0;
        for (std::int64_t k = 0; k < K; ++k)
          if (packed.is_kept(i, k))
            total += packed.value(i, k) * double{b[args.trans_b ? j * K + k : k * N + j]};
        if (args.bias) total += args.bias.as<T>()[j];
        if (args.addend) total += args.addend.as<T>()[i * N + j];
        if (args.accumulate) total += c;
        c = static_cast<T>(total);
      }
    }
  });
}

}  // namespace twill::reference
