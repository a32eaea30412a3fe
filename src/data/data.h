// SPDX-License-Identifier: Apache-2.0
// Examples by number. Which example stands at a position is a function of the data, the seed and the
// position alone: whoever resumes remembers one integer.
#pragma once

#include <cstdint>

#include "tensor/batch.h"

namespace twill {

class Data {
 public:
  virtual ~Data() = default;

  // What an example is made of.
  virtual const BatchLayout& layout() const = 0;
  // Examples in one epoch. Training goes on behind it, in another order; an evaluation ends there.
  virtual std::int64_t size() const = 0;
  // The examples from `position` on, one in each row. Safe from several threads at once.
  virtual void fill(std::int64_t position, const Batch& batch) const = 0;
};

}  // namespace twill
