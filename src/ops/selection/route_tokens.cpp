// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/route_tokens.h"

#include <limits>

#include "ops/validate.h"

namespace twill {

void validate(const ClusterEnergyArgs& args) {
  require_float_types("cluster_energy", {{"a", args.a}, {"score", args.score}}, {});
  const Shape &a = args.a.shape(), &score = args.score.shape();
  require(a.rank() == 2, "[cluster_energy] a must have shape (T, F), got {}", to_string(a));
  require(score.rank() == 2 && score[0] == a[0] && score[1] >= 1,
          "[cluster_energy] score must have shape ({}, E), got {}", a[0], to_string(score));
  require(args.cluster || a[1] == 0, "[cluster_energy] cluster is missing");
  require_dtype("cluster_energy", {"cluster", args.cluster}, DType::kI32);
  require_shape("cluster_energy", {"cluster", args.cluster}, {a[1]});
}

void validate(const RouteTokensArgs& args) {
  require_float_types("route_tokens", {{"score", args.score}}, {});
  const Shape& score = args.score.shape();
  require(score.rank() == 2 && score[1] >= 1,
          "[route_tokens] score must have shape (T, E) with E 1 or more, got {}", to_string(score));
  require(score[0] <= std::numeric_limits<std::int32_t>::max(),
          "[route_tokens] score must have at most 2^31 - 1 rows, got {}", score[0]);
  require(args.order || score[0] == 0, "[route_tokens] order is missing");
  require_dtype("route_tokens", {"order", args.order}, DType::kI32);
  require_shape("route_tokens", {"order", args.order}, {score[0]});
  for (const NamedView& optional :
       {NamedView{"route", args.route}, NamedView{"dealt", args.dealt}}) {
    if (!optional.view) continue;
    require_dtype("route_tokens", optional, DType::kI32);
    require_shape("route_tokens", optional, {score[0]});
  }
  require(args.deal_window >= 4 && args.deal_window % 4 == 0,
          "[route_tokens] deal_window must be a multiple of 4, 4 or more, got {}",
          args.deal_window);
}

void cluster_energy(const Context& context, const ClusterEnergyArgs& args) {
  validate(args);
  require_stored("cluster_energy", context.kernels(), args.a);
  context.run("cluster_energy", context.kernels().cluster_energy, args);
}

void route_tokens(const Context& context, const RouteTokensArgs& args) {
  validate(args);
  require_stored("route_tokens", context.kernels(), args.score);
  context.run("route_tokens", context.kernels().route_tokens, args);
}

}  // namespace twill
