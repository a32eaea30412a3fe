// SPDX-License-Identifier: Apache-2.0
// Every CUDA call is checked: TWILL_CUDA_CHECK(cudaMalloc(…)). The error names the call and the place.
#pragma once

#include <cuda_runtime_api.h>

namespace twill::cuda {

[[noreturn]] void cuda_failed(cudaError_t error, const char* call, const char* file, int line);
// For libraries with status codes of their own; `status` is their name for it.
[[noreturn]] void library_failed(const char* status, const char* call, const char* file, int line);

}  // namespace twill::cuda

#define TWILL_CUDA_CHECK(call)                                            \
  do {                                                                    \
    const cudaError_t twill_error = (call);                               \
    if (twill_error != cudaSuccess) [[unlikely]]                          \
      ::twill::cuda::cuda_failed(twill_error, #call, __FILE__, __LINE__); \
  } while (false)

// Behind every launch: a bad grid or missing code for this GPU shows here, not three ops later.
#define TWILL_CUDA_CHECK_LAUNCH() TWILL_CUDA_CHECK(cudaGetLastError())
