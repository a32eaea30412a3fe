// SPDX-License-Identifier: Apache-2.0
#include "data/mixed_windows.h"

#include "base/check.h"
#include "base/require.h"

namespace twill {
namespace {

// Sources of equal length must not show their windows in the same order. Source 0 keeps the seed:
// a mix of one source is that source.
std::uint64_t seed_of(std::uint64_t seed, std::size_t source) {
  return seed + source * 0x9E37'79B9'7F4A'7C15u;
}

}  // namespace

MixedWindows::MixedWindows(const std::vector<TrainingSource>& sources, std::int64_t T,
                           std::uint64_t seed)
    : quotas_(sources.size(), 0) {
  TWILL_CHECK(!sources.empty(), "a mix has at least one source");
  double sum = 0.0;
  for (const TrainingSource& source : sources) {
    streams_.emplace_back(source.tokens, T, seed_of(seed, streams_.size()));
    sum += source.weight;
  }
  if (sources.size() == 1) {
    quotas_[0] = kPeriod;
    return;
  }
  // Each slot goes to the source that is furthest behind its share; of equals, to the first.
  for (std::int64_t slot = 1; slot <= kPeriod; ++slot) {
    std::size_t best = 0;
    double best_lag = -1e300;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const double owed = sources[s].weight / sum * static_cast<double>(slot);
      const double lag = owed - static_cast<double>(quotas_[s]);
      if (lag > best_lag) best = s, best_lag = lag;
    }
    slots_.push_back({static_cast<std::uint32_t>(best), static_cast<std::uint32_t>(quotas_[best])});
    ++quotas_[best];
  }
  for (std::size_t s = 0; s < sources.size(); ++s)
    require(quotas_[s] > 0, "data.source: the weight {} of {} is less than 1/{} of all",
            sources[s].weight, sources[s].name, kPeriod);
}

MixedWindows::Place MixedWindows::place(std::int64_t position) const {
  TWILL_CHECK(position >= 0, "a position is not negative");
  if (slots_.empty()) return {0, position};
  const Slot& slot = slots_[static_cast<std::size_t>(position % kPeriod)];
  return {slot.source, position / kPeriod * quotas_[slot.source] + slot.rank};
}

void MixedWindows::window(std::int64_t position, std::int32_t* inputs,
                          std::int32_t* targets) const {
  const Place at = place(position);
  streams_[at.source].window(at.position, inputs, targets);
}

double MixedWindows::share(std::size_t source) const {
  return static_cast<double>(quotas_[source]) / static_cast<double>(kPeriod);
}

std::int64_t MixedWindows::windows_per_epoch(std::size_t source) const {
  return streams_[source].windows_per_epoch();
}

}  // namespace twill
