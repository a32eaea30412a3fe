// SPDX-License-Identifier: Apache-2.0
// Which tokens stand beside each other in the blocks of a V:2:M selection.
//
// cluster_energy: score[t, e] = Σ a[t, i] over the neurons i with cluster[i] = e, in index order, in
//   the type of a.                a (T, F), cluster (F) i32 in [0, E), score (T, E)
// route_tokens:   e(t) = the best column of score[t] (lowest index of equal ones, NaN counts as +Inf);
//   order = tokens sorted by e(t), equal ones in their order.       score (T, E), order (T) i32
//   `route` (T) i32, optional: e(t).
#pragma once

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
};

void validate(const ClusterEnergyArgs& args);
void validate(const RouteTokensArgs& args);
void cluster_energy(const Context& context, const ClusterEnergyArgs& args);
void route_tokens(const Context& context, const RouteTokensArgs& args);

}  // namespace twill
