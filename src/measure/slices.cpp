// SPDX-License-Identifier: Apache-2.0
#include "measure/slices.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "ops/timer.h"
#include "ops/transfer.h"

namespace twill {
namespace {

constexpr std::int64_t kFewestSlices = 5;
constexpr double kLongestSettling = 1.0;  // of what is spent whether or not times move

class SliceTimer {
 public:
  SliceTimer(const Context& context, const std::vector<std::function<void()>>& bodies,
             double slice_seconds)
      : timer_(open_timer(context)), bodies_(bodies) {
    for (const std::function<void()>& body : bodies) {
      body();  // searches, allocates
      wait(context);
      const double seconds = std::max(timed(body, 1), 1e-9);
      calls_.push_back(std::max<std::int64_t>(1, std::llround(slice_seconds / seconds)));
    }
  }

  // A slice of each.
  std::vector<double> round() {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < bodies_.size(); ++i)
      seconds.push_back(timed(bodies_[i], calls_[i]) / static_cast<double>(calls_[i]));
    return seconds;
  }

 private:
  double timed(const std::function<void()>& body, std::int64_t calls) {
    timer_->start();
    for (std::int64_t i = 0; i < calls; ++i) body();
    timer_->stop();
    return timer_->take().front();
  }

  std::unique_ptr<Timer> timer_;
  const std::vector<std::function<void()>>& bodies_;
  std::vector<std::int64_t> calls_;  // of a slice
};

bool agree(const std::vector<double>& a, const std::vector<double>& b, double within) {
  return std::ranges::equal(a, b,
                            [&](double x, double y) { return std::abs(x - y) <= within * y; });
}

void settle(SliceTimer& timer, const SliceLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const double least = std::min(0.5 * limits.seconds, kLongestSettling);
  std::vector<double> before;
  bool is_settled = false;
  while (spent() < 2.0 * limits.seconds && (spent() < least || !is_settled)) {
    std::vector<double> now = timer.round();
    is_settled = agree(before, now, limits.settled_within);
    before = std::move(now);
  }
}

}  // namespace

std::vector<std::vector<double>> time_in_slices(const Context& context,
                                                const std::vector<std::function<void()>>& bodies,
                                                const SliceLimits& limits) {
  const double slice = std::min(limits.slice_seconds, limits.seconds / kFewestSlices);
  const std::int64_t slices =
      slice > 0.0 ? std::max<std::int64_t>(kFewestSlices, std::llround(limits.seconds / slice))
                  : kFewestSlices;
  SliceTimer timer(context, bodies, slice);
  settle(timer, limits);
  std::vector<std::vector<double>> seconds(bodies.size());
  for (std::int64_t i = 0; i < slices; ++i) {
    const std::vector<double> round = timer.round();
    for (std::size_t body = 0; body < bodies.size(); ++body) seconds[body].push_back(round[body]);
  }
  return seconds;
}

}  // namespace twill
