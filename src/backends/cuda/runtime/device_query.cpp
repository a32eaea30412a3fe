// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/runtime/device_query.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/attention/attention_cudnn.h"

namespace twill::cuda {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// "80-real;90a-real" of the build is code for 8.x (from 8.0 on) and for 9.0 alone.
bool has_code_for(const cudaDeviceProp& properties) {
  return properties.major == 8 || (properties.major == 9 && properties.minor == 0);
}

// Dense bf16 with f32 sums, by the datasheets; 0 where we have none.
double peak_flops(std::string_view name) {
  struct Peak {
    std::string_view part;
    double flops;
  };
  constexpr Peak kPeaks[] = {{"H100 PCIe", 756e12},
                             {"H100", 989e12},
                             {"H200", 989e12},
                             {"H800", 989e12},
                             {"A100", 312e12}};
  for (const Peak& peak : kPeaks)
    if (name.find(peak.part) != std::string_view::npos) return peak.flops;
  return 0.0;
}

DeviceReport refuse(std::string text) { return {.usable = false, .text = std::move(text)}; }

}  // namespace

DeviceReport find_device(int index, Device& device) {
  int driver = 0, runtime = 0, count = 0;
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return refuse("no NVIDIA driver is installed");
  // From CUDA 11 on any driver of the same major version serves.
  if (driver / 1000 < runtime / 1000)
    return refuse(fmt::format("the driver knows CUDA {}, this build needs {}; update the driver",
                              version_text(driver), version_text(runtime)));
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return refuse(cudaGetErrorString(error));
  if (index >= count) return refuse(fmt::format("there are {} GPUs, counted from 0", count));
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess)
    return refuse("the GPU does not answer");
  const std::string name = fmt::format("{} (sm_{}{})", static_cast<const char*>(properties.name),
                                       properties.major, properties.minor);
  if (!has_code_for(properties))
    return refuse(fmt::format("{} is not among the supported architectures, sm_80 to sm_90", name));
  device.num_sms = properties.multiProcessorCount;
  device.generation = 10 * properties.major + properties.minor;
  device.peak_flops = peak_flops(properties.name);
  return {.usable = true,
          .text = fmt::format("{}, {} multiprocessors, {:.0f} GiB", name,
                              properties.multiProcessorCount,
                              static_cast<double>(properties.totalGlobalMem) / (1 << 30))};
}

std::string describe() {
  Device device;
  const DeviceReport report = find_device(0, device);
  return fmt::format("{}; cuBLASLt {}; {}", report.text, cublasLtGetVersion(), describe_cudnn());
}

}  // namespace twill::cuda
