// SPDX-License-Identifier: Apache-2.0
#include "ops/products/times_packed.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/packing/packed_storage.h"

namespace twill::reference {
namespace {

template <class T>
void product(const TimesPackedArgs& args) {
  const PackedStorage packed(args.packed.shape, args.packed.storage);
  const std::int64_t N = args.n(), K = args.k();
  const T* bias = data_or_null<T>(args.bias);
  const T* addend = data_or_null<T>(args.addend);
  for (std::int64_t i = 0; i < args.m(); ++i) {
    for (std::int64_t j = 0; j < N; ++j) {
      double total = 0.0;
      for (std::int64_t k = 0; k < K; ++k)
        if (packed.is_kept(j, k)) total += double{args.x.as<T>()[i * K + k]} * packed.value(j, k);
      if (bias != nullptr) total += bias[j];
      if (addend != nullptr) total += addend[i * N + j];
      args.c.as<T>()[i * N + j] = static_cast<T>(total);
    }
  }
}

template <class T>
void times_slope(const TimesPackedArgs& args) {
  for (std::int64_t i = 0; i < args.c.num_elements(); ++i)
    args.c.as<T>()[i] = static_cast<T>(double{args.c.as<T>()[i]} * double{args.before.as<T>()[i]});
}

}  // namespace

void times_packed(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  with_element_type(args.c.dtype(), [&]<class T>(T) {
    product<T>(sum_of(args));
    if (args.epilogue == GemmEpilogue::kActivation)
      activation_forward(activation_of(args), device, queue);
    if (args.epilogue != GemmEpilogue::kActivationGradient) return;
    if (args.keeps_slope)
      times_slope<T>(args);
    else
      activation_backward(gradient_of(args), device, queue);
  });
}

}  // namespace twill::reference
