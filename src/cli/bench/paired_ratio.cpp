// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/paired_ratio.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/check.h"
#include "ops/timer.h"

namespace twill::cli {
namespace {

// How many of `count` sorted values lie outside the interval at each end: the most for which the
// median of the distribution is outside with at most 5 %.
std::int64_t outside_interval(std::int64_t count) {
  double probability = std::pow(0.5, static_cast<double>(count));  // of no value below the median
  double below = probability;
  std::int64_t outside = 0;
  while (2.0 * below <= 0.05) {
    ++outside;
    probability *= static_cast<double>(count - outside + 1) / static_cast<double>(outside);
    below += probability;
  }
  return outside;
}

}  // namespace

double median_of(std::vector<double> values) {
  TWILL_CHECK(!values.empty(), "a median of something");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

PairedRatio paired_ratio(std::span<const double> above, std::span<const double> below) {
  TWILL_CHECK(!above.empty() && above.size() == below.size(), "every time has its neighbour");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  std::ranges::sort(ratios);
  const auto count = static_cast<std::int64_t>(ratios.size());
  // The interval reaches from the first value that is not outside to the last.
  const auto first = static_cast<std::size_t>(std::max<std::int64_t>(outside_interval(count), 1));
  return {.median = median_of(ratios),
          .low = ratios[first - 1],
          .high = ratios[ratios.size() - first],
          .pairs = count};
}

std::string text_of(const PairedRatio& ratio) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", ratio.median, ratio.low, ratio.high);
}

JsonValue json_of(const PairedRatio& ratio) {
  return JsonObject{
      {"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}, {"pairs", ratio.pairs}};
}

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

}  // namespace twill::cli
