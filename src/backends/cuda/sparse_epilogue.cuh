// SPDX-License-Identifier: Apache-2.0
// Which function of device/activation_functions.cuh an epilogue of sparse_product.h is made of.
#pragma once

#include "backends/cuda/device/activation_functions.cuh"
#include "backends/cuda/sparse_product.h"

namespace twill::cuda {

template <SparseEpilogue kEpilogue>
struct EpilogueFunction {
  using Type = void;  // it has none
};
template <>
struct EpilogueFunction<SparseEpilogue::kGelu> {
  using Type = GeluTanh<__nv_bfloat16>;
};
template <>
struct EpilogueFunction<SparseEpilogue::kGeluGradient> {
  using Type = GeluTanh<__nv_bfloat16>;
};
template <>
struct EpilogueFunction<SparseEpilogue::kGegluTanh> {
  using Type = GeluTanh<__nv_bfloat16>;
};
template <>
struct EpilogueFunction<SparseEpilogue::kRelu2> {
  using Type = Relu2<__nv_bfloat16>;
};
template <>
struct EpilogueFunction<SparseEpilogue::kRelu2Gradient> {
  using Type = Relu2<__nv_bfloat16>;
};
template <>
struct EpilogueFunction<SparseEpilogue::kSwiglu> {
  using Type = Swish<__nv_bfloat16>;
};
template <>
struct EpilogueFunction<SparseEpilogue::kGeglu> {
  using Type = Gelu<__nv_bfloat16>;
};

template <SparseEpilogue kEpilogue>
using FunctionOf = typename EpilogueFunction<kEpilogue>::Type;

}  // namespace twill::cuda
