// SPDX-License-Identifier: Apache-2.0
// The loss of a model over examples.
#pragma once

#include <cstdint>

#include "data/data.h"
#include "models/model.h"

namespace twill {

struct EvaluationShape {
  std::int64_t batch = 1;  // examples at once
  std::int64_t time = 1;   // tokens of an example
};

// Mean loss per target in nats over all examples of `data`, in order. `as_trained`: see Pass.
double mean_loss(const Context& context, Model& model, const Data& data,
                 const EvaluationShape& shape, bool as_trained = false);

}  // namespace twill
