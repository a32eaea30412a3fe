// SPDX-License-Identifier: Apache-2.0
#include "ops/products/gemm.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class T>
void run(const GemmArgs& args) {
  const std::int64_t M = args.m(), N = args.n(), K = args.k();
  const T* a = args.a.as<T>();
  const T* b = args.b.as<T>();
  const T* bias = data_or_null<T>(args.bias);      // (N)
  const T* addend = data_or_null<T>(args.addend);  // (M, N)
  T* c = args.c.as<T>();

  for (std::int64_t i = 0; i < M; ++i) {
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < K; ++k) {
        const double left = args.trans_a ? a[k * M + i] : a[i * K + k];
        const double right = args.trans_b ? b[j * K + k] : b[k * N + j];
        sum += left * right;
      }
      if (bias != nullptr) sum += bias[j];
      if (addend != nullptr) sum += addend[i * N + j];
      if (args.accumulate) sum += c[i * N + j];
      c[i * N + j] = static_cast<T>(sum);
    }
  }
}

}  // namespace

void gemm(const GemmArgs& args, const Device&, Queue&) {
  with_element_type(args.c.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
