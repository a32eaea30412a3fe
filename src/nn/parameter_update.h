// SPDX-License-Identifier: Apache-2.0
// What an update does to a parameter: data that stands beside it. Whoever steers (sparsity/) writes
// it between steps, the optimizer reads it; neither knows the other.
#pragma once

#include <cstdint>

#include "tensor/view.h"

namespace twill {

// An optimizer's state of a parameter.
struct Moments {
  View m = {};
  View v = {};
};

// Arrays of some entries of a parameter, of its gradient and of its moments.
struct KeptEntries {
  View value = {};
  View gradient = {};
  View m = {};
  View v = {};
  explicit operator bool() const { return static_cast<bool>(value); }
};

// Where a pull to zero on pruned entries enters (ops/update/masked_decay.h).
enum class Pull : std::uint8_t { kNone, kOnGradient, kOnWeight };

struct ParameterUpdate {
  // Only these entries are trained: norm and update take them in place of the parameter.
  KeptEntries kept = {};
  // On the entries that `mask` (u8, 1 kept) prunes.
  Pull pull = Pull::kNone;
  ConstView mask = {};
  double strength = 0.0;  // of the pull
  bool freezes_second_moment = false;
};

}  // namespace twill
