// SPDX-License-Identifier: Apache-2.0
#include "train/run/device_choice.h"

#include <sys/stat.h>

#include <string_view>

#include "base/log.h"
#include "base/require.h"

namespace twill {
namespace {

constexpr std::string_view kCuda = "cuda";

// The driver's own file: there is a GPU, whether or not this build can use it.
bool machine_has_gpu() {
  struct stat unused {};
  return ::stat("/dev/nvidiactl", &unused) == 0;
}

int index_in(std::string_view device) {  // "cuda", "cuda:3"
  return device.size() > kCuda.size() ? device.back() - '0' : 0;
}

// Why auto does not take the GPU; empty when it does.
std::string why_not_cuda() {
  if (cuda_table() == nullptr) return "this build has no CUDA backend";
  Device device;
  const DeviceReport report = cuda_table()->find_device(0, device);
  return report.usable ? std::string() : report.text;
}

// On the cpu bf16 is what products see, not what is stored. Inference is f32 on every backend.
const KernelTable& cpu_kernels(const RunConfig& config, Use use) {
  const bool rounds = use == Use::kTraining && config.train.precision == "bf16";
  return rounds ? rounded_cpu_table() : cpu_table();
}

}  // namespace

Context open_context(const RunConfig& config, Use use) {
  const int threads = static_cast<int>(config.threads);
  if (config.device == "reference") return Context(reference_table(), threads);
  if (config.device == "cpu") return Context(cpu_kernels(config, use), threads);
  if (config.device.starts_with(kCuda)) {
    require(cuda_table() != nullptr,
            "device = \"{}\": this build has no CUDA backend; install the CUDA toolkit (nvcc) and "
            "build again, or use device=cpu",
            config.device);
    return Context(*cuda_table(), threads, index_in(config.device));
  }
  const std::string reason = why_not_cuda();
  if (reason.empty()) return Context(*cuda_table(), threads);
  if (machine_has_gpu()) log_warning(fmt::format("the GPU is not used: {}", reason));
  return Context(cpu_kernels(config, use), threads);
}

DType storage_type(const RunConfig& config, const Context& context) {
  const KernelTable& kernels = context.kernels();
  const bool stores_bf16 = kernels.stores_bf16;
  if (config.train.precision == "bf16")
    require(stores_bf16 || &kernels == &rounded_cpu_table(),
            "train.precision = \"bf16\": the {} backend computes in f32; leave the key out, or use "
            "device=cuda, or device=cpu",
            kernels.name);
  return stores_bf16 && config.train.precision != "f32" ? DType::kBf16 : DType::kF32;
}

void keep_choice(RunConfig& config, const Context& context) {
  if (config.device == "auto") config.device = context.kernels().name;
  if (config.train.precision == "auto")
    config.train.precision = storage_type(config, context) == DType::kBf16 ? "bf16" : "f32";
}

}  // namespace twill
