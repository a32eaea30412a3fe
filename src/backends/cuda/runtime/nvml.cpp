// SPDX-License-Identifier: Apache-2.0
// The few declarations of NVML that we call, as its header has them: the toolkit need not bring it,
// and nothing links to it.
#include "backends/cuda/runtime/nvml.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>

namespace twill::cuda {
namespace {

using NvmlDevice = void*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;  // NVML_CLOCK_SM

// nvmlMemory_v2_t: `used` without what the driver keeps for itself.
struct NvmlMemory {
  unsigned version = 0;
  unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};
constexpr unsigned kMemoryVersion = static_cast<unsigned>(sizeof(NvmlMemory)) | 2u << 24;
static_assert(sizeof(NvmlMemory) == 40);

// Stays open to the end of the process.
class Nvml {
 public:
  Nvml() {
    void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*init)() = nullptr;
    find(library, "nvmlInit_v2", init);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", device_at_);
    find(library, "nvmlDeviceGetPowerUsage", power_);
    find(library, "nvmlDeviceGetMemoryInfo_v2", memory_);
    find(library, "nvmlDeviceGetClockInfo", clock_);
    is_open_ = init != nullptr && device_at_ != nullptr && init() == kSuccess;
  }

  DeviceReadings read(const char* pci_address) const {
    DeviceReadings readings;
    NvmlDevice device = nullptr;
    if (!is_open_ || device_at_(pci_address, &device) != kSuccess) return readings;
    unsigned milliwatts = 0, megahertz = 0;
    NvmlMemory memory{.version = kMemoryVersion};
    if (power_ != nullptr && power_(device, &milliwatts) == kSuccess)
      readings.power_watts = 1e-3 * milliwatts;
    if (memory_ != nullptr && memory_(device, &memory) == kSuccess)
      readings.memory_bytes = static_cast<std::int64_t>(memory.used);
    if (clock_ != nullptr && clock_(device, kSmClock, &megahertz) == kSuccess)
      readings.clock_hz = 1e6 * megahertz;
    return readings;
  }

 private:
  template <class Function>
  static void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
  }

  bool is_open_ = false;
  int (*device_at_)(const char*, NvmlDevice*) = nullptr;
  int (*power_)(NvmlDevice, unsigned*) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*clock_)(NvmlDevice, int, unsigned*) = nullptr;
};

}  // namespace

DeviceReadings readings(const Device& device) {
  static const Nvml nvml;
  // NVML numbers the GPUs of the machine, CUDA those that CUDA_VISIBLE_DEVICES shows; both know the
  // address on the bus.
  std::array<char, 32> address{};
  const cudaError_t error =
      cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device.index);
  if (error == cudaSuccess) return nvml.read(address.data());
  static_cast<void>(cudaGetLastError());  // no launch behind shall report it
  return {};
}

}  // namespace twill::cuda
