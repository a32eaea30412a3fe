// SPDX-License-Identifier: Apache-2.0
// Descriptors are made in place for every call: a dozen stores, nothing allocated.
#include "backends/cuda/products/product_call.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace twill::cuda {
namespace {

cudaDataType_t library_type(DType dtype) {
  if (dtype == DType::kF32) return CUDA_R_32F;
  TWILL_CHECK(dtype == DType::kBf16, "the cuda backend computes on f32 and bf16");
  return CUDA_R_16BF;
}

constexpr std::uintptr_t kMostAlignment = 16;

// 16 bytes are all that an algorithm asks for, so better alignment is not told apart.
std::int64_t alignment_of(const ConstView& view) {
  if (!view) return 0;
  return std::int64_t{1} << std::countr_zero(reinterpret_cast<std::uintptr_t>(view.bytes()) |
                                             kMostAlignment);
}

// The bits of address and bytes of a row: a power of two divides both when it divides these. No
// more than 16 bytes, as in the key: a choice holds for all operands that share one.
std::uint64_t grain_of(const ConstView& view) {
  return kMostAlignment | reinterpret_cast<std::uintptr_t>(view.bytes()) |
         static_cast<std::uint64_t>(view.shape()[1] * size_of(view.dtype()));
}

// A capability or a setting of an algorithm; `otherwise` when it does not say.
template <class T, class Attribute, class Get>
T asked(const cublasLtMatmulAlgo_t& algo, Attribute attribute, Get get, T otherwise) {
  T value{};
  std::size_t bytes = 0;
  return get(&algo, attribute, &value, sizeof(value), &bytes) == CUBLAS_STATUS_SUCCESS ? value
                                                                                       : otherwise;
}

template <class T>
T capability(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoCapAttributes_t attribute,
             T otherwise) {
  return asked(algo, attribute, cublasLtMatmulAlgoCapGetAttribute, otherwise);
}

template <class T>
T setting(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
          T otherwise) {
  return asked(algo, attribute, cublasLtMatmulAlgoConfigGetAttribute, otherwise);
}

// A row-major (rows, cols) matrix is a column-major (cols, rows) one.
void set_layout(cublasLtMatrixLayoutOpaque_t& layout, const ConstView& view) {
  const auto rows = static_cast<std::uint64_t>(view.shape()[0]);
  const auto cols = static_cast<std::uint64_t>(view.shape()[1]);
  TWILL_CUBLAS_CHECK(
      cublasLtMatrixLayoutInit(&layout, library_type(view.dtype()), cols, rows, view.shape()[1]));
}

cublasLtEpilogue_t library_epilogue(const GemmArgs& args) {
  const bool has_bias = static_cast<bool>(args.bias);
  TWILL_CHECK(args.epilogue != GemmEpilogue::kActivation, "an activation is a step of its own");
  if (args.epilogue == GemmEpilogue::kActivationGradient) return CUBLASLT_EPILOGUE_DGELU;
  return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// What the library may choose from. The alignments of bias and `before` it sees by their pointers.
class Preference {
 public:
  Preference(const ProductKey& key, std::uint32_t reductions) {
    TWILL_CUBLAS_CHECK(cublasLtMatmulPreferenceInit(&preference_));
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspaceBytes});
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.align_b);
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.align_a);
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                  key.align_addend != 0 ? key.align_addend : key.align_c);
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.align_c);
  }

  cublasLtMatmulPreference_t get() { return &preference_; }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    TWILL_CUBLAS_CHECK(
        cublasLtMatmulPreferenceSetAttribute(&preference_, attribute, &value, sizeof(value)));
  }
  void set_alignment(cublasLtMatmulPreferenceAttributes_t attribute, std::int64_t bytes) {
    set(attribute, static_cast<std::uint32_t>(bytes));
  }

  cublasLtMatmulPreferenceOpaque_t preference_{};
};

}  // namespace

ProductKey describe(const GemmArgs& args) {
  return {.m = args.m(),
          .n = args.n(),
          .k = args.k(),
          .trans_a = args.trans_a ? 1 : 0,
          .trans_b = args.trans_b ? 1 : 0,
          .accumulate = args.accumulate ? 1 : 0,
          .type = static_cast<std::int64_t>(args.a.dtype()),
          .result_type = static_cast<std::int64_t>(args.c.dtype()),
          .epilogue = static_cast<std::int64_t>(args.epilogue),
          .align_a = alignment_of(args.a),
          .align_b = alignment_of(args.b),
          .align_c = alignment_of(args.c),
          .align_bias = alignment_of(args.bias),
          .align_addend = alignment_of(args.addend),
          .align_before = args.epilogue == GemmEpilogue::kNone ? 0 : alignment_of(args.before)};
}

// A bf16 partial sum would be a rounding that the contract does not grant; an f32 c is as good as
// the f32 of the sums. In place is left out for both: parts are then added to c one by one.
std::uint32_t f32_reductions(const GemmArgs& args) {
  std::uint32_t mask = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (args.c.dtype() == DType::kF32) mask |= CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  return mask;
}

ProductCall::ProductCall(const GemmArgs& args)
    : a_(args.b.bytes()),
      b_(args.a.bytes()),
      c_(args.addend ? args.addend.bytes() : args.c.bytes()),
      d_(args.c.bytes()),
      beta_(args.addend || args.accumulate ? 1.0f : 0.0f),
      reductions_(f32_reductions(args)),
      a_grain_(grain_of(args.b)),
      b_grain_(grain_of(args.a)),
      c_grain_(grain_of(args.addend ? args.addend : ConstView(args.c))),
      d_grain_(grain_of(args.c)),
      key_(describe(args)) {
  set_layout(a_layout_, args.b);
  set_layout(b_layout_, args.a);
  set_layout(d_layout_, args.c);
  set_operation(args);
}

template <class T>
void ProductCall::set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
  TWILL_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(&operation_, attribute, &value, sizeof(value)));
}

void ProductCall::set_operation(const GemmArgs& args) {
  // f32 operands in full: CUBLAS_COMPUTE_32F does not round them to TF32.
  TWILL_CUBLAS_CHECK(cublasLtMatmulDescInit(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  set(CUBLASLT_MATMUL_DESC_TRANSA, args.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, args.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, library_epilogue(args));
  if (args.bias) {
    const void* bias = args.bias.bytes();
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, library_type(args.bias.dtype()));
  }
  if (args.epilogue != GemmEpilogue::kNone) {
    void* before = args.before.bytes();
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, before);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, args.n());
  }
}

std::vector<Algorithm> ProductCall::candidates(cublasLtHandle_t handle, std::uint32_t reductions,
                                               int most) {
  Preference preference(key_, reductions);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, &operation_, &a_layout_, &b_layout_, &d_layout_,
                                     &d_layout_, preference.get(), most, results.data(), &found);
  // Either is its way to say that it computes no such product: an alignment, a leading dimension.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  if (status != CUBLAS_STATUS_SUCCESS)
    library_failed(cublasLtGetStatusName(status), "cublasLtMatmulAlgoGetHeuristic", __FILE__,
                   __LINE__);
  results.resize(static_cast<std::size_t>(found));
  std::vector<Algorithm> usable;
  for (const cublasLtMatmulHeuristicResult_t& result : results)
    if (result.state == CUBLAS_STATUS_SUCCESS)
      usable.push_back(std::bit_cast<Algorithm>(result.algo));
  return usable;
}

bool ProductCall::is_aligned_for(const cublasLtMatmulAlgo_t& algo) const {
  const auto fits = [&](std::uint64_t grain, cublasLtMatmulAlgoCapAttributes_t attribute) {
    return grain % std::max(capability(algo, attribute, std::uint32_t{1}), 1u) == 0;
  };
  return fits(a_grain_, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES) &&
         fits(b_grain_, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES) &&
         (beta_ == 0.0f || fits(c_grain_, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES)) &&
         fits(d_grain_, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES);
}

// Without parts the scheme says nothing.
bool ProductCall::adds_up_in_f32(const cublasLtMatmulAlgo_t& algo) const {
  if (setting(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{1}) <= 1) return true;
  const auto scheme = setting(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, std::uint32_t{0});
  return scheme != CUBLASLT_REDUCTION_SCHEME_NONE && (scheme & ~reductions_) == 0;
}

bool ProductCall::takes(cublasLtHandle_t handle, const Algorithm& algorithm) {
  const auto algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = cublasLtMatmulAlgoCheck(handle, &operation_, &a_layout_, &b_layout_,
                                                        &d_layout_, &d_layout_, &algo, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > std::size_t{kWorkspaceBytes})
    return false;
  const bool reads_elsewhere = beta_ != 0.0f && c_ != d_;
  const bool can_read_elsewhere =
      capability(algo, CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, std::int32_t{1}) != 0;
  return (!reads_elsewhere || can_read_elsewhere) && is_aligned_for(algo) && adds_up_in_f32(algo);
}

cublasStatus_t ProductCall::launch(cublasLtHandle_t handle, const Algorithm& algorithm,
                                   std::byte* workspace, cudaStream_t stream) {
  const auto algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  const float alpha = 1.0f;
  return cublasLtMatmul(handle, &operation_, &alpha, a_, &a_layout_, b_, &b_layout_, &beta_, c_,
                        &d_layout_, d_, &d_layout_, &algo, workspace, std::size_t{kWorkspaceBytes},
                        stream);
}

}  // namespace twill::cuda
