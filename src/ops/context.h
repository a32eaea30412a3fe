// SPDX-License-Identifier: Apache-2.0
// What an op runs on, and who watches.
#pragma once

#include <memory>
#include <string_view>

#include "ops/kernel_table.h"

namespace twill {

// Sees every op as it runs: `twill bench step` and tests watch through it. Costs a null check when
// absent.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void before(std::string_view op) = 0;
  virtual void after(std::string_view op) = 0;
  // A product's arguments, just before it runs.
  virtual void gemm(const GemmArgs& args) = 0;
};

// A backend opened on a device: the one thing layers pass along.
class Context {
 public:
  // `num_threads` 0 takes all hardware threads.
  Context(const KernelTable& kernels, int num_threads);

  const KernelTable& kernels() const { return *kernels_; }
  const Device& device() const { return device_; }
  Queue& queue() const { return *queue_; }
  const Memory& memory() const { return kernels_->memory(); }

  OpObserver* observer = nullptr;

  // Runs a validated op. Called by the front doors only.
  template <class Args>
  void run(std::string_view op, Kernel<Args> kernel, const Args& args) const {
    if (observer != nullptr) observer->before(op);
    kernel(args, device_, *queue_);
    if (observer != nullptr) observer->after(op);
  }

 private:
  const KernelTable* kernels_;
  Device device_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace twill
