// SPDX-License-Identifier: Apache-2.0
// Dropout on a branch of the residual stream. With p = 0, or outside training, it is the identity
// and costs nothing: the product in front of it adds the residual itself.
#pragma once

#include "nn/pass.h"

namespace twill {

class ResidualDropout {
 public:
  // `stream` numbers the place in the model, so that no two places share random numbers.
  ResidualDropout(double p, std::uint64_t stream) : p_(p), stream_(stream) {}

  bool active(const Pass& pass) const { return pass.training && p_ > 0.0; }
  // y = [addend +] dropout(x); also the backward pass, on gradients.
  void apply(const Pass& pass, ConstView x, View y, ConstView addend = {}) const;

 private:
  double p_;
  std::uint64_t stream_;
};

}  // namespace twill
