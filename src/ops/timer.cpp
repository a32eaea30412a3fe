// SPDX-License-Identifier: Apache-2.0
#include "ops/timer.h"

#include <chrono>
#include <utility>

#include "ops/transfer.h"

namespace twill {
namespace {

class HostTimer final : public Timer {
 public:
  explicit HostTimer(const Context& context) : context_(context) {}

  void start() override {
    wait(context_);
    started_ = Clock::now();
  }
  void stop() override {
    wait(context_);
    seconds_.push_back(std::chrono::duration<double>(Clock::now() - started_).count());
  }
  std::vector<double> take() override { return std::exchange(seconds_, {}); }

 private:
  using Clock = std::chrono::steady_clock;

  const Context& context_;
  Clock::time_point started_;
  std::vector<double> seconds_;
};

}  // namespace

std::unique_ptr<Timer> open_timer(const Context& context) {
  const KernelTable& kernels = context.kernels();
  if (kernels.open_timer != nullptr) return kernels.open_timer(context.queue());
  return std::make_unique<HostTimer>(context);
}

}  // namespace twill
