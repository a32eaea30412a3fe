// SPDX-License-Identifier: Apache-2.0
// cuSPARSELt, NVIDIA's library of 2:4 products, opened at run time: nothing links to it, and a build
// needs no header of it. Declared here is what we call, by the names and values of cusparseLt.h 0.8 and
// cusparse.h; another version of the library is refused, because they have changed before.
// tests/backends/cusparselt_header_test.cpp holds this file against the header where there is one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace twill::cuda::cusparselt {

// The library's structures are opaque and of fixed size: 512 bytes in 0.8.1, about 11 KB before 0.8.
struct alignas(16) Opaque {
  std::byte data[16384];
};

using Status = int;                       // cusparseStatus_t
inline constexpr Status kSuccess = 0;     // CUSPARSE_STATUS_SUCCESS
inline constexpr int kNoTranspose = 0;    // CUSPARSE_OPERATION_NON_TRANSPOSE
inline constexpr int kTranspose = 1;      // CUSPARSE_OPERATION_TRANSPOSE
inline constexpr int kOrderColumns = 1;   // CUSPARSE_ORDER_COL
inline constexpr int kOrderRows = 2;      // CUSPARSE_ORDER_ROW
inline constexpr int kHalfSparse = 0;     // CUSPARSELT_SPARSITY_50_PERCENT
inline constexpr int kComputeF32 = 2;     // CUSPARSE_COMPUTE_32F
inline constexpr int kDefaultChoice = 0;  // CUSPARSELT_MATMUL_ALG_DEFAULT
inline constexpr int kAlgorithmId = 0;    // CUSPARSELT_MATMUL_ALG_CONFIG_ID
inline constexpr int kSplitK = 3;         // CUSPARSELT_MATMUL_SPLIT_K
inline constexpr int kMajorVersion = 0;   // MAJOR_VERSION of library_types.h
inline constexpr int kMinorVersion = 1;   // MINOR_VERSION
inline constexpr int kPatchVersion = 2;   // PATCH_LEVEL
inline constexpr int kKnownMajor = 0, kKnownMinor = 8;

// The functions, without "cusparseLt" in front. Enumerations travel as int.
struct Library {
  Status (*Init)(void* handle) = nullptr;
  Status (*Destroy)(const void* handle) = nullptr;
  Status (*GetProperty)(int property, int* value) = nullptr;
  const char* (*GetErrorName)(Status) = nullptr;
  Status (*DenseDescriptorInit)(const void* handle, void* matrix, std::int64_t rows,
                                std::int64_t cols, std::int64_t leading, std::uint32_t alignment,
                                int type, int order) = nullptr;
  Status (*StructuredDescriptorInit)(const void* handle, void* matrix, std::int64_t rows,
                                     std::int64_t cols, std::int64_t leading,
                                     std::uint32_t alignment, int type, int order,
                                     int sparsity) = nullptr;
  Status (*MatDescriptorDestroy)(const void* matrix) = nullptr;
  Status (*MatmulDescriptorInit)(const void* handle, void* product, int op_a, int op_b,
                                 const void* a, const void* b, const void* c, const void* d,
                                 int compute_type) = nullptr;
  Status (*MatmulAlgSelectionInit)(const void* handle, void* choice, const void* product,
                                   int algorithm) = nullptr;
  Status (*MatmulAlgSelectionDestroy)(const void* choice) = nullptr;
  Status (*MatmulAlgGetAttribute)(const void* handle, const void* choice, int attribute,
                                  void* value, std::size_t bytes) = nullptr;
  Status (*MatmulPlanInit)(const void* handle, void* plan, const void* product,
                           const void* choice) = nullptr;
  Status (*MatmulPlanDestroy)(const void* plan) = nullptr;
  Status (*MatmulGetWorkspace)(const void* handle, const void* plan, std::size_t* bytes) = nullptr;
  Status (*Matmul)(const void* handle, const void* plan, const void* alpha, const void* a,
                   const void* b, const void* beta, const void* c, void* d, void* workspace,
                   cudaStream_t* streams, std::int32_t num_streams) = nullptr;
  Status (*MatmulSearch)(const void* handle, void* plan, const void* alpha, const void* a,
                         const void* b, const void* beta, const void* c, void* d, void* workspace,
                         cudaStream_t* streams, std::int32_t num_streams) = nullptr;
  Status (*SpMMAPruneCheck2)(const void* handle, const void* structured, int is_a, int op,
                             const void* dense, int* valid, cudaStream_t stream) = nullptr;
  Status (*SpMMACompressedSize2)(const void* handle, const void* structured, std::size_t* bytes,
                                 std::size_t* scratch_bytes) = nullptr;
  Status (*SpMMACompress2)(const void* handle, const void* structured, int is_a, int op,
                           const void* dense, void* compressed, void* scratch,
                           cudaStream_t stream) = nullptr;

  std::string version = {};  // "0.8.1"
  std::string problem = {};  // empty: it can be called
};

// Opened by the first call, and to the end of the process.
const Library& library();

}  // namespace twill::cuda::cusparselt
