// SPDX-License-Identifier: Apache-2.0
// Where the processes of a run meet. Each of them computes its own micro-batches of every step; what
// they add up is the step of one process that has them all: the counts of targets before the passes,
// gradients and losses behind them.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

class Reducer {
 public:
  virtual ~Reducer() = default;

  virtual std::int64_t processes() const = 0;
  virtual std::int64_t rank() const = 0;  // in [0, processes())

  // Every view becomes the sum over all processes of the views at its place, in place and with the same
  // bits everywhere. All processes call it in the same order with views of the same shapes and types, f32
  // or f64. May return before the sums are there, if what is given to the context's queue behind it
  // waits for them.
  virtual void add_up(const Context& context, std::span<const View> views) = 0;
};

}  // namespace twill
