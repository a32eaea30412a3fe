// SPDX-License-Identifier: Apache-2.0
// One product as a call of cuBLASLt: descriptors, pointers, and who could compute it.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cuda/products/product_file.h"
#include "backends/cuda/runtime/check.h"
#include "ops/products/gemm.h"

#define TWILL_CUBLAS_CHECK(call)                                                          \
  do {                                                                                    \
    const cublasStatus_t twill_status = (call);                                           \
    if (twill_status != CUBLAS_STATUS_SUCCESS) [[unlikely]]                               \
      ::twill::cuda::library_failed(cublasLtGetStatusName(twill_status), #call, __FILE__, \
                                    __LINE__);                                            \
  } while (false)

namespace twill::cuda {

// NVIDIA advises 32 MiB on Hopper; the f32 partial sums of split-K can use more.
inline constexpr std::int64_t kWorkspaceBytes = 64 << 20;

// All that the choice of an algorithm for `args` may depend on.
ProductKey describe(const GemmArgs& args);

// Ways to add up the parts of a split-K sum (CUBLASLT_REDUCTION_SCHEME_…). Ours are out of place
// and in f32; all of the library's may also pass through the type of c.
std::uint32_t f32_reductions(const GemmArgs& args);
inline constexpr std::uint32_t kAllReductions = CUBLASLT_REDUCTION_SCHEME_MASK;

// The library counts by columns and we by rows, and a row-major matrix is the column-major
// transpose of itself: the call computes cᵀ = op(b)ᵀ op(a)ᵀ without copies. Its A is our b, its B
// our a, its C what is added to the product, its D our c.
//
// Takes addend or accumulate, not both; a bias of c's type; epilogues that gemm_fuses(); M, N,
// K > 0.
class ProductCall {
 public:
  explicit ProductCall(const GemmArgs& args);
  ProductCall(const ProductCall&) = delete;
  ProductCall& operator=(const ProductCall&) = delete;

  // At most `most` algorithms, best guess first; none when the library has none for this product.
  std::vector<Algorithm> candidates(cublasLtHandle_t handle, std::uint32_t reductions, int most);
  // Whether an algorithm that comes from elsewhere (a file, a product of another size, a change of
  // settings) computes this: what the library checks, and what it leaves to its caller. That is the
  // alignment of pointers and rows, a C other than D, the workspace and f32_reductions().
  bool takes(cublasLtHandle_t handle, const Algorithm& algorithm);
  // `workspace` has kWorkspaceBytes.
  cublasStatus_t launch(cublasLtHandle_t handle, const Algorithm& algorithm, std::byte* workspace,
                        cudaStream_t stream);

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value);
  void set_operation(const GemmArgs& args);
  bool is_aligned_for(const cublasLtMatmulAlgo_t& algo) const;
  bool adds_up_in_f32(const cublasLtMatmulAlgo_t& algo) const;

  const void* a_;
  const void* b_;
  const void* c_;
  void* d_;
  float beta_;
  std::uint32_t reductions_;
  // An alignment that divides these has both, address and length of a row.
  std::uint64_t a_grain_, b_grain_, c_grain_, d_grain_;
  ProductKey key_;
  cublasLtMatmulDescOpaque_t operation_{};
  cublasLtMatrixLayoutOpaque_t a_layout_{}, b_layout_{};
  cublasLtMatrixLayoutOpaque_t d_layout_{};  // also of C
};

}  // namespace twill::cuda
