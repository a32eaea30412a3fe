// SPDX-License-Identifier: Apache-2.0
#include "measure/turns.h"

#include <chrono>
#include <memory>
#include <thread>

#include "ops/timer.h"

namespace twill {

std::vector<std::vector<double>> time_in_turns(const Context& context,
                                               const std::vector<std::function<void()>>& bodies,
                                               const TurnLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const std::unique_ptr<Timer> timer = open_timer(context);
  const auto timed = [&](const std::function<void()>& body) {
    timer->start();
    body();
    timer->stop();
    return timer->take().front();
  };
  std::vector<std::vector<double>> seconds(bodies.size());
  const auto turn = [&](bool counts) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (limits.rest_seconds > 0.0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(limits.rest_seconds));
        bodies[i]();
      }
      const double time = timed(bodies[i]);
      if (counts) seconds[i].push_back(time);
    }
  };
  turn(false);
  const Clock::time_point begin = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (std::int64_t round = 0;
       round < limits.fewest || (round < limits.most && spent() < limits.seconds); ++round)
    turn(true);
  return seconds;
}

}  // namespace twill
