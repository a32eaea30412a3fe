// SPDX-License-Identifier: Apache-2.0
// Launches the second stage of a sum over rows (device/partial_sums.cuh), and what the first stages
// ask of the device.
#pragma once

#include <cstdint>

#include "backends/cuda/device/partial_sums.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {

inline int device_attribute(cudaDeviceAttr attribute, const Device& device) {
  int value = 0;
  TWILL_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device.index));
  return value;
}

// Shared memory that a block can have: 227 KB on an H200, 99 KB on the smallest of sm_8x.
inline std::int64_t shared_bytes_per_block(const Device& device) {
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}

// Launches with more shared memory than comes by default.
template <class... Params, class... Args>
void launch_with_shared(void (*kernel)(Params...), dim3 grid, int threads, std::int64_t bytes,
                        Queue& queue, Args... args) {
  TWILL_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
  kernel<<<grid, threads, static_cast<std::size_t>(bytes), stream_of(queue)>>>(args...);
  TWILL_CUDA_CHECK_LAUNCH();
}

// `width` must not be zero; no partials give zeros.
inline void add_partials(const float* partials, std::int64_t count, std::int64_t width,
                         const ColumnSums& sums, const Device& device, Queue& queue) {
  constexpr int kThreads = 256;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ceil_div(width, kSector)));
  config.blockDim = dim3(kThreads);
  config.stream = stream_of(queue);
  config.attrs = &early;
  config.numAttrs = device_attribute(cudaDevAttrComputeCapabilityMajor, device) >= 9 ? 1 : 0;
  TWILL_CUDA_CHECK(
      cudaLaunchKernelEx(&config, add_partials_kernel<kThreads>, partials, count, width, sums));
}

}  // namespace twill::cuda
