// SPDX-License-Identifier: Apache-2.0
// Dropout at one place of a model. With p = 0, or outside training, it is the identity and not called.
#pragma once

#include "nn/pass.h"

namespace twill {

class Dropout {
 public:
  // `stream` numbers the place in the model, so that no two places share random numbers.
  Dropout(double p, std::uint64_t stream) : p_(p), stream_(stream) {}

  bool active(const Pass& pass) const { return pass.training && p_ > 0.0; }
  // y = [addend +] dropout(x); also the backward pass, on gradients.
  void apply(const Pass& pass, ConstView x, View y, ConstView addend = {}) const;

 private:
  double p_;
  std::uint64_t stream_;
};

}  // namespace twill
