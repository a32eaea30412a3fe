// SPDX-License-Identifier: Apache-2.0
// Which function of device/activation_functions.cuh an epilogue of sparse_product.h is made of.
#pragma once

#include <type_traits>

#include "backends/cuda/device/layers/activation_functions.cuh"
#include "backends/cuda/sparse_products/sparse_product.h"

namespace twill::cuda {

template <SparseEpilogue kEpilogue>
constexpr auto epilogue_function() {
  using enum SparseEpilogue;
  if constexpr (kEpilogue == kGelu || kEpilogue == kGeluGradient || kEpilogue == kGeluSlope ||
                kEpilogue == kGegluTanh)
    return std::type_identity<GeluTanh<__nv_bfloat16>>();
  else if constexpr (kEpilogue == kTimesSlope)
    return std::type_identity<KnownSlope>();
  else if constexpr (kEpilogue == kRelu2 || kEpilogue == kRelu2Gradient)
    return std::type_identity<Relu2<__nv_bfloat16>>();
  else if constexpr (kEpilogue == kSwiglu)
    return std::type_identity<Swish<__nv_bfloat16>>();
  else if constexpr (kEpilogue == kGeglu)
    return std::type_identity<Gelu<__nv_bfloat16>>();
  else
    return std::type_identity<void>();  // it has none
}

template <SparseEpilogue kEpilogue>
using FunctionOf = typename decltype(epilogue_function<kEpilogue>())::type;

}  // namespace twill::cuda
