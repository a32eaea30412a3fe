// SPDX-License-Identifier: Apache-2.0
// What sparse_product_sm80.cu does with its sums: the epilogues of sparse_product.h with M inside.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/sparse_products/sparse_epilogue.cuh"
#include "backends/cuda/sparse_products/sparse_fragments.h"
#include "backends/cuda/sparse_products/sparse_product.h"

namespace twill::cuda {

// Eight neighbouring sums of token n, from row m of P on, become what the epilogue says.
template <SparseEpilogue kEpilogue>
__device__ __forceinline__ void store_eight(const SparseProduct& p, std::int64_t n, std::int64_t m,
                                            const float (&bias)[kPiece], float (&sums)[kPiece]) {
  using F = FunctionOf<kEpilogue>;
  const std::int64_t at = n * p.pitch_of_d() + m, at_before = n * p.pitch_of_before() + m;
  auto* before = static_cast<__nv_bfloat16*>(p.before) + at_before;
  if constexpr (multiplies_by_slope(kEpilogue)) {
    float z[kPiece];
    load(before, z);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) sums[i] = plain_gradient<F>(z[i], sums[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kPiece; ++i) sums[i] += bias[i];
  }
  if constexpr (kEpilogue == SparseEpilogue::kSum) {
    if (p.addend != nullptr) {
      float added[kPiece];
      load(static_cast<const __nv_bfloat16*>(p.addend) + at, added);
#pragma unroll
      for (int i = 0; i < kPiece; ++i) sums[i] += added[i];
    }
  }
  if constexpr (activates(kEpilogue)) {
    float value[kPiece];
    if constexpr (is_gated(kEpilogue))
      load(static_cast<const __nv_bfloat16*>(p.value) + at_before, value);
    if constexpr (leaves_slope(kEpilogue)) {
      float slopes[kPiece];
#pragma unroll
      for (int i = 0; i < kPiece; ++i) {
        const ValueAndSlope f = F::both(to_f32(from_f32<__nv_bfloat16>(sums[i])));
        sums[i] = f.value;
        slopes[i] = f.slope;
      }
      store(before, slopes);
    } else {
      store(before, sums);
#pragma unroll
      for (int i = 0; i < kPiece; ++i) {
        sums[i] = F::value(to_f32(from_f32<__nv_bfloat16>(sums[i])));  // of what is stored
        if constexpr (is_gated(kEpilogue)) sums[i] *= value[i];
      }
    }
  }
  store(static_cast<__nv_bfloat16*>(p.d) + at, sums);
}

}  // namespace twill::cuda
