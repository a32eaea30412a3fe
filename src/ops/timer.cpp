// SPDX-License-Identifier: Apache-2.0
#include "ops/timer.h"

#include <algorithm>
#include <chrono>
#include <limits>
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

double best_seconds(const Context& context, const CallLimits& limits,
                    const std::function<void()>& body) {
  const std::unique_ptr<Timer> timer = open_timer(context);
  double best = std::numeric_limits<double>::infinity(), total = 0.0;
  body();
  for (int call = 0; call < limits.fewest || (total < limits.enough && call < limits.most);
       ++call) {
    timer->start();
    body();
    timer->stop();
    const double seconds = timer->take().front();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

double steady_seconds(const Context& context, double enough, const std::function<void()>& body,
                      int most_calls) {
  constexpr int kFewest = 3;
  const double one = best_seconds(context, {.fewest = 1, .most = 1, .enough = 0.0}, body);
  const int calls = std::clamp(static_cast<int>(enough / std::max(one, 1e-9)), kFewest, most_calls);
  const std::unique_ptr<Timer> timer = open_timer(context);
  timer->start();
  for (int call = 0; call < calls; ++call) body();
  timer->stop();
  return timer->take().front() / calls;
}

}  // namespace twill
