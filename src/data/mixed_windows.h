// SPDX-License-Identifier: Apache-2.0
// Windows of several sources in given shares. Which source serves window p of a run, and which of
// its own windows it gives, is a function of (weights, seed, p): a resumed run remembers one
// integer. After any number of windows every source has served its share to within two windows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_windows.h"

namespace twill {

struct TrainingSource {
  std::string name;  // for people
  double weight = 1.0;
  TokenSequence tokens;
};

class MixedWindows {
 public:
  // Weights need not add up to 1. Throws twill::Error when a source is too short for one window, or
  // its share is below 1 / kPeriod.
  MixedWindows(const std::vector<TrainingSource>& sources, std::int64_t T, std::uint64_t seed);

  // The order of sources repeats after this many windows.
  static constexpr std::int64_t kPeriod = 65'536;

  struct Place {
    std::size_t source;
    std::int64_t position;  // in that source's own stream
  };
  Place place(std::int64_t position) const;
  void window(std::int64_t position, std::int32_t* inputs, std::int32_t* targets) const;

  // Of one source: windows per window of the run, and windows in one epoch of its own.
  double share(std::size_t source) const;
  std::int64_t windows_per_epoch(std::size_t source) const;

 private:
  struct Slot {
    std::uint32_t source;
    std::uint32_t rank;  // how often the source came before in the period
  };

  std::vector<WindowStream> streams_;
  std::vector<std::int64_t> quotas_;  // of each source, in one period
  std::vector<Slot> slots_;           // empty for a single source
};

}  // namespace twill
