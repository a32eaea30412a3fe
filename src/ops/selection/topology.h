// SPDX-License-Identifier: Apache-2.0
// One update of a kept topology (dynamic sparse training) of one weight matrix.
//
//   weight  any shape, N elements; pruned ones are 0
//   grad    same shape: the dense gradient; may be absent where no score reads it
//   mask    same shape, u8, 0 or 1: in the old, out the new topology
//   grown   same shape, u8: out, 1 where a weight was inactive before and is active now
//
//   drop   the num_prune active elements of lowest score
//   grow   among all not kept, just dropped ones included: the num_grad elements of highest |grad|,
//          then num_random of the rest, those with the smallest random words
//
// Scores, in the type of weight: kMagnitude |w|; kMest |w| + lambda |g|; kSensitivity
// |w / (g + 1e-9)|. NaN counts as +Inf. Of equal scores the lower index counts as better: it is
// kept, and it is grown. The word of element e is word e % 4 of
// philox4x32({e / 4 (low 32 bits), e / 4 (high), update, kGrow | stream << 8}, seed); of equal
// words the lower index is smaller. Dropped and regrown in one update: keeps its value, `grown`
// is 0. Grown from inactive: weight 0. Dropped for good: weight 0. num_prune <= active,
// num_grad + num_random <= N - active + num_prune.
//
// Inactive before and after: not touched. lambda and 1e-9 are rounded to the type of weight, then
// each operation is.
//
// With mask all 0, num_prune = num_grad = 0 and num_random = n it draws a random topology of n;
// weight and grad may then be absent.
//
// weight and grad, m and v below are f32 on every backend (reference: also f64): masters, gradients
// of parameters, and moments, which a recipe that sets them keeps in f32.
//
// Where the mask is in host memory, kernels call require_topology_counts before any change. On a
// device nobody waits for the count: numbers that are too large take all there are.
//
// regrow_moments: the optimizer state of newly active weights.
//   m[i] = 0 and v[i] = mean of v over mask && !grown, where grown[i]; the mean by the rule of runs
//   in ops/selection/soft_threshold24.h in f64, rounded once; 0 when there is none. kZero: v[i] = 0.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

enum class DropScore : std::uint8_t { kMagnitude, kMest, kSensitivity };

struct TopologyUpdateArgs {
  View weight = {};
  ConstView grad = {};
  View mask;
  View grown;
  DropScore score = DropScore::kMagnitude;
  double mest_lambda = 0.0;
  std::int64_t num_prune = 0;
  std::int64_t num_grad = 0;
  std::int64_t num_random = 0;
  std::uint64_t seed = 0;
  std::uint32_t update = 0;
  std::uint32_t stream = 0;  // the layer, below 2^24
};

enum class RegrownMoments : std::uint8_t { kLayerMean, kZero };

struct RegrowMomentsArgs {
  View m;
  View v;
  ConstView mask;
  ConstView grown;
  RegrownMoments policy = RegrownMoments::kLayerMean;
};

void validate(const TopologyUpdateArgs& args);
// What only the mask can tell: num_prune <= num_active, num_grad + num_random <= places left.
void require_topology_counts(const TopologyUpdateArgs& args, std::int64_t num_active);
void validate(const RegrowMomentsArgs& args);
void topology_update(const Context& context, const TopologyUpdateArgs& args);
void regrow_moments(const Context& context, const RegrowMomentsArgs& args);

}  // namespace twill
