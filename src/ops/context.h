// SPDX-License-Identifier: Apache-2.0
// What an op runs on, and who watches.
#pragma once

#include <memory>
#include <string_view>

#include "ops/kernel_table.h"
#include "ops/moved_bytes.h"

namespace twill {

class Context;

// Sees every op as it runs: `twill bench step` and tests watch through it. Costs a null check when
// absent.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void before(std::string_view op) = 0;
  virtual void after(std::string_view op, const OpWork& work) = 0;
  // A product's arguments, just before it runs.
  virtual void gemm(const GemmArgs& args) = 0;
  // Every product of a layer (ops/products/product.h) as it was asked for, before any kernel of it runs.
  virtual void product(const Context& /*context*/, const Product& /*product*/) {}
};

// A named stretch of host work, for backends with a profiler that shows such; elsewhere nothing.
class ProfilerRange {
 public:
  ProfilerRange(const KernelTable& kernels, const char* name) : pop_(kernels.pop_range) {
    if (pop_ != nullptr) kernels.push_range(name);
  }
  ~ProfilerRange() {
    if (pop_ != nullptr) pop_();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  void (*pop_)();
};

// A backend opened on a device: the one thing layers pass along.
class Context {
 public:
  // `num_threads` 0 takes all hardware threads; `index` picks among devices of the backend's kind.
  // Throws twill::Error when the device is not there or not supported.
  Context(const KernelTable& kernels, int num_threads, int index = 0);

  const KernelTable& kernels() const { return *kernels_; }
  const Device& device() const { return device_; }
  Queue& queue() const { return *queue_; }
  const Memory& memory() const { return kernels_->memory(); }

  OpObserver* observer = nullptr;

  // Runs a validated op. Called by the front doors only.
  template <class Args>
  void run(const char* op, Kernel<Args> kernel, const Args& args) const {
    if (kernel == nullptr) [[unlikely]]
      missing(op);
    const ProfilerRange range(*kernels_, op);
    if (observer == nullptr) return kernel(args, device_, *queue_);
    const OpWork work = work_of(args);  // here, so that it falls into no one's time
    observer->before(op);
    kernel(args, device_, *queue_);
    observer->after(op, work);
  }

 private:
  [[noreturn]] void missing(std::string_view op) const;

  const KernelTable* kernels_;
  Device device_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace twill
