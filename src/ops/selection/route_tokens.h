// SPDX-License-Identifier: Apache-2.0
// Which tokens stand beside each other in the blocks of a V:2:M selection.
//
// cluster_energy: score[t, e] = Σ a[t, i] over the neurons i with cluster[i] = e, in index order,
//   in the type of a; a bf16 a is summed in f32 and the sum rounded once.
//                    a (T, F), cluster (F) i32 in [0, E), score (T, E) of the type of a
// route_tokens: e(t) = the best column of score[t] (lowest index of equal ones, NaN as +Inf);
//   order = tokens sorted by e(t), equal ones in their order.       score (T, E), order (T) i32
//   `route` (T) i32, optional: e(t).
//   `dealt` (T) i32, optional: the tokens of `order` dealt out over windows of deal_window = m,
//   for a selection along tokens, which wants every cluster in every window. The order is cut into
//   S equal strata, stratum s from floor(s T / S) to floor((s + 1) T / S): S = m / 4, and 4 for
//   m = 4. With c = m / S (4, and 1 for m = 4), window w takes tokens w c … w c + c - 1 of
//   stratum 0, then of stratum 1, and so on, for w below floor(T / S) / c, rounded down. The tokens
//   left over follow in the order of `order`.                     m a multiple of 4, 4 or more
//
// a and score are f32 or bf16 (reference: also f64).
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct ClusterEnergyArgs {
  ConstView a;
  ConstView cluster;
  View score;
};

struct RouteTokensArgs {
  ConstView score;
  View order;
  View route = {};
  View dealt = {};
  std::int64_t deal_window = 4;
};

void validate(const ClusterEnergyArgs& args);
void validate(const RouteTokensArgs& args);
void cluster_energy(const Context& context, const ClusterEnergyArgs& args);
void route_tokens(const Context& context, const RouteTokensArgs& args);

}  // namespace twill
