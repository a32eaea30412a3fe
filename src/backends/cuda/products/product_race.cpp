// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/products/product_race.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace twill::cuda {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// One round is good to some percent: who is further behind the leader is not asked again.
constexpr double kInReach = 1.08;
constexpr std::size_t kMostFinalists = 5;
// Rounds of the finals, fewer where a launch takes tens of milliseconds: noise does not grow with
// it.
constexpr double kFewestRounds = 2.0, kMostRounds = 5.0;
constexpr double kFinalSeconds = 0.15;
// Of the largest element. Roundings stay well below: bf16 is good to 2^-9 of an element, sums of
// 2^18 terms in f32 to some 2^-8 of the largest, so two results are at most 3/256 apart. A part of K
// that is left out changes elements by the root of its share: by 1/32 where a thousandth is missing.
constexpr float kNearlyNothing = 1.0f / 32;

bool are_same(float one, float other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

}  // namespace

Race::Race(TimeRound time) : time_(std::move(time)) {}

void Race::enter() { best_.push_back(time_(best_.size())); }

std::optional<std::size_t> Race::leader() const {
  const auto least = std::ranges::min_element(best_);
  if (least == best_.end() || *least == kNever) return std::nullopt;
  return static_cast<std::size_t>(std::distance(best_.begin(), least));
}

// The first is always among them: it ran while the clocks were still rising.
std::vector<std::size_t> Race::finalists() const {
  const std::optional<std::size_t> lead = leader();
  if (!lead) return {};
  std::vector<std::size_t> chosen;
  for (std::size_t i = 1; i < best_.size(); ++i)
    if (best_[i] <= kInReach * best_[*lead]) chosen.push_back(i);
  std::ranges::stable_sort(chosen, {}, [&](std::size_t i) { return best_[i]; });
  if (chosen.size() >= kMostFinalists) chosen.resize(kMostFinalists - 1);
  if (best_[0] != kNever) chosen.push_back(0);
  return chosen;
}

std::optional<std::size_t> Race::finish(double clearly_better) {
  const std::vector<std::size_t> finals = finalists();
  double lap = 0.0;  // seconds of one launch of each
  for (const std::size_t candidate : finals) lap += best_[candidate];
  const int rounds = static_cast<int>(std::clamp(kFinalSeconds / lap, kFewestRounds, kMostRounds));
  // In turn, so that clocks that rise or fall meet all of them.
  for (int round = 0; round < rounds; ++round)
    for (const std::size_t candidate : finals) {
      if (best_[candidate] == kNever) continue;
      const double seconds = time_(candidate);
      best_[candidate] = seconds == kNever ? kNever : std::min(best_[candidate], seconds);
    }
  const std::optional<std::size_t> winner = leader();
  if (!winner || best_[0] == kNever) return winner;
  return best_[*winner] < clearly_better * best_[0] ? *winner : std::size_t{0};
}

bool agree(std::span<const float> one, std::span<const float> other) {
  if (one.size() != other.size()) return false;
  float largest = 0.0f, furthest = 0.0f;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!std::isfinite(one[i]) || !std::isfinite(other[i])) {
      if (!are_same(one[i], other[i])) return false;
      continue;
    }
    largest = std::max({largest, std::abs(one[i]), std::abs(other[i])});
    furthest = std::max(furthest, std::abs(one[i] - other[i]));
  }
  return furthest <= kNearlyNothing * largest;
}

}  // namespace twill::cuda
