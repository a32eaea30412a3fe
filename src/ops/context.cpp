// SPDX-License-Identifier: Apache-2.0
#include "ops/context.h"

#include "base/require.h"
#include "base/thread_pool.h"

namespace twill {

namespace {

Device find_device(const KernelTable& kernels, int num_threads, int index) {
  Device device{.num_threads = num_threads > 0 ? num_threads : default_num_threads(),
                .index = index};
  if (kernels.find_device == nullptr) return device;
  const DeviceReport report = kernels.find_device(index, device);
  require(report.usable, "device {}:{}: {}; take another one, or use device=cpu", kernels.name,
          index, report.text);
  return device;
}

}  // namespace

void Context::missing(std::string_view op) const {
  fail("[{}] the {} backend does not have this operation; run with device=cpu", op, kernels_->name);
}

Context::Context(const KernelTable& kernels, int num_threads, int index)
    : kernels_(&kernels),
      device_(find_device(kernels, num_threads, index)),
      queue_(kernels.open_queue(device_)) {}

}  // namespace twill
