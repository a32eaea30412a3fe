// SPDX-License-Identifier: Apache-2.0
// What a failed CUDA call says to a person: the call, the place, the driver's words and, where
// something can be done about it, what.
#include "backends/cuda/runtime/check.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "twill/error.h"

namespace twill::cuda {
namespace {

std::string_view hint_for(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "; the GPU's memory is full: take a smaller batch or a shorter sequence, and look "
             "with "
             "nvidia-smi whether another process holds memory";
    case cudaErrorNoKernelImageForDevice:
      return "; this build holds no code for this GPU: configure with its architecture in "
             "TWILL_CUDA_ARCHITECTURES and build again";
    case cudaErrorInsufficientDriver:
      return "; the driver is older than the CUDA runtime of this build: update the driver";
    default:
      return "; device=cpu does without the GPU";
  }
}

}  // namespace

void cuda_failed(cudaError_t error, const char* call, const char* file, int line) {
  // Who catches this may go on (with a smaller batch, say): the next launch must not report the
  // error once more. One that broke the context stays.
  static_cast<void>(cudaGetLastError());
  const std::string text =
      fmt::format("CUDA failed: {} ({}){}; in {}, at {}:{}", cudaGetErrorString(error),
                  cudaGetErrorName(error), hint_for(error), call, file, line);
  // Memory is the caller's to ask less of; everything else is the device's.
  if (error == cudaErrorMemoryAllocation) throw Error(text);
  throw DeviceError(text);
}

void library_failed(const char* status, const char* call, const char* file, int line) {
  throw DeviceError(
      fmt::format("a CUDA library failed: {}; in {}, at {}:{}; device=cpu does without it", status,
                  call, file, line));
}

}  // namespace twill::cuda
