// SPDX-License-Identifier: Apache-2.0
#include "ops/context.h"

#include "base/thread_pool.h"

namespace twill {

Context::Context(const KernelTable& kernels, int num_threads)
    : kernels_(&kernels),
      device_{.num_threads = num_threads > 0 ? num_threads : default_num_threads()},
      queue_(kernels.open_queue(device_)) {}

}  // namespace twill
