// SPDX-License-Identifier: Apache-2.0
#include "ops/products/peer_product.h"

#include "ops/validate.h"

namespace twill {

void validate(const PeerProductArgs& args) {
  require(args.result && args.result.shape().rank() == 2, "[peer_product] result must be a matrix");
  require(args.other && args.other.shape().rank() == 2, "[peer_product] other must be a matrix");
  const std::int64_t M = args.m(), N = args.n(), K = args.k();
  const bool right = args.side == PackedSide::kRight;
  require_shape("peer_product", {"structured", args.structured}, right ? Shape{N, K} : Shape{K, M});
  require_shape("peer_product", {"other", args.other}, right ? Shape{M, K} : Shape{K, N});
  require_dtype("peer_product", {"structured", args.structured}, DType::kBf16);
  require_dtype("peer_product", {"other", args.other}, DType::kBf16);
  require(args.result.dtype() == DType::kBf16 || args.result.dtype() == DType::kF32,
          "[peer_product] result must be bf16 or f32, got {}", name_of(args.result.dtype()));
}

PeerProductReport open_peer_product(const Context& context, const PeerProductArgs& args) {
  validate(args);
  const KernelTable& kernels = context.kernels();
  if (kernels.benches.open_peer_product == nullptr)
    return {.reason =
                fmt::format("the {} backend knows no library with 2:4 products", kernels.name)};
  if (args.m() * args.n() * args.k() == 0) return {.reason = "an empty product"};
  return kernels.benches.open_peer_product(args, context.device(), context.queue());
}

}  // namespace twill
