// SPDX-License-Identifier: Apache-2.0
// How many targets a batch has, and the mean of their losses, without leaving the device: a masked
// language model has another number in every batch, and recorded work cannot ask the host.
//
//   count_targets   count[0] (+)= number of targets >= 0; any other target is ignored, as in
//                   ops/layers/cross_entropy.h
//   add_mean        mean[0] (+)= sum[0] / count[0]; nothing where count[0] is 0
//
//   targets  any shape, i32
//   count    (1) f64, overwritten, or added to when accumulate: exact, since a step has fewer than 2^53
//            targets
//   sum      (1) f64
//   mean     (1) f64, overwritten, or added to when accumulate
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct CountTargetsArgs {
  ConstView targets;
  View count;
  bool accumulate = false;
};

struct AddMeanArgs {
  ConstView sum;
  ConstView count;
  View mean;
  bool accumulate = false;
};

void validate(const CountTargetsArgs& args);
void count_targets(const Context& context, const CountTargetsArgs& args);
void validate(const AddMeanArgs& args);
void add_mean(const Context& context, const AddMeanArgs& args);

}  // namespace twill
