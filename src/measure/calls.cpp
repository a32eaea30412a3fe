// SPDX-License-Identifier: Apache-2.0
#include "measure/calls.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include "ops/timer.h"

namespace twill {

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

double wall_seconds(const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace twill
