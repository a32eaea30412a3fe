// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/topology.h"

#include <cmath>

#include "ops/validate.h"

namespace twill {
namespace {

void require_mask(const char* op, const NamedView& mask, const Shape& shape) {
  require(mask.view || mask.view.num_elements() == 0, "[{}] {} is missing", op, mask.name);
  require_dtype(op, mask, DType::kU8);
  require_shape(op, mask, shape);
}

void require_count(const char* name, std::int64_t count, std::int64_t num_elements) {
  require(count >= 0 && count <= num_elements,
          "[topology_update] {} must be from 0 to the {} elements of mask, got {}", name,
          num_elements, count);
}

}  // namespace

void validate(const TopologyUpdateArgs& args) {
  const char* op = "topology_update";
  const Shape& shape = args.mask.shape();
  const std::int64_t n = args.mask.num_elements();
  require_mask(op, {"mask", args.mask}, shape);
  require_mask(op, {"grown", args.grown}, shape);
  require_count("num_prune", args.num_prune, n);
  require_count("num_grad", args.num_grad, n);
  require_count("num_random", args.num_random, n);
  const bool only_draws = args.num_prune == 0 && args.num_grad == 0;
  const bool scores_grad = args.num_prune > 0 && args.score != DropScore::kMagnitude;
  const NamedView weight{"weight", args.weight, only_draws};
  const NamedView grad{"grad", args.grad, args.num_grad == 0 && !scores_grad};
  require_one_float_type(op, {weight, grad});
  require(args.weight || !args.grad || n == 0, "[topology_update] grad needs weight beside it");
  require_shape(op, weight, shape);
  require_shape(op, grad, shape);
  require(std::isfinite(args.mest_lambda) && args.mest_lambda >= 0.0,
          "[topology_update] mest_lambda must be finite and 0 or more, got {}", args.mest_lambda);
  require(args.stream < (1u << 24), "[topology_update] stream must be below 2^24, got {}",
          args.stream);
}

void require_topology_counts(const TopologyUpdateArgs& args, std::int64_t num_active) {
  require(args.num_prune <= num_active,
          "[topology_update] num_prune must be at most the {} active elements, got {}", num_active,
          args.num_prune);
  const std::int64_t places = args.mask.num_elements() - num_active + args.num_prune;
  require(
      args.num_grad <= places && args.num_random <= places - args.num_grad,
      "[topology_update] num_grad + num_random must be at most the {} places that are not kept, "
      "got {} + {}",
      places, args.num_grad, args.num_random);
}

void validate(const RegrowMomentsArgs& args) {
  const char* op = "regrow_moments";
  require_one_float_type(op, {{"m", args.m}, {"v", args.v}});
  const Shape& shape = args.m.shape();
  require_shape(op, {"v", args.v}, shape);
  require_mask(op, {"mask", args.mask}, shape);
  require_mask(op, {"grown", args.grown}, shape);
}

void topology_update(const Context& context, const TopologyUpdateArgs& args) {
  validate(args);
  context.run("topology_update", context.kernels().topology_update, args);
}

void regrow_moments(const Context& context, const RegrowMomentsArgs& args) {
  validate(args);
  context.run("regrow_moments", context.kernels().regrow_moments, args);
}

}  // namespace twill
