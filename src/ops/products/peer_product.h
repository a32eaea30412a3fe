// SPDX-License-Identifier: Apache-2.0
// A 2:4 product by the vendor's own library, beside which ours are measured. No part of training.
//
//   side    structured                        other     result
//   kRight  P (N, K)                          x (M, K)  c (M, N) = x Pᵀ   as ops/products/times_packed.h
//   kLeft   Pᵀ (K, M), a sample as it lies    b (K, N)  c (M, N) = P b    as ops/products/packed_times.h
//
// structured holds its zeros: at most two of four consecutive entries along K are not 0. structured and
// other are bf16, the result bf16 or f32; row-major, contiguous. With `transposed` the result is stored
// transposed: a layout that nobody asks for, but that the library may be quicker at.
//
// Opening one reads structured once, compresses it and searches the library's algorithms on the
// operands themselves, result included: some tenths of a second.
#pragma once

#include <memory>
#include <string>

#include "ops/context.h"
#include "ops/packing/packed_matrix.h"
#include "tensor/view.h"

namespace twill {

struct PeerProductArgs {
  PackedSide side = PackedSide::kRight;
  ConstView structured;
  ConstView other;
  View result;
  bool transposed = false;

  std::int64_t m() const { return result.shape()[transposed ? 1 : 0]; }
  std::int64_t n() const { return result.shape()[transposed ? 0 : 1]; }
  std::int64_t k() const { return other.shape()[side == PackedSide::kRight ? 1 : 0]; }
};

// The operands outlive it.
class PeerProduct {
 public:
  virtual ~PeerProduct() = default;
  // The product, with the algorithm that was found best.
  virtual void run() = 0;
  // The library's own compression of `structured`, once more.
  virtual void compress() = 0;
  // "cuSPARSELt 0.8.1, algorithm 7, …"
  virtual const std::string& description() const = 0;
};

// A product, or why there is none: no such library, or it refuses the operands.
struct PeerProductReport {
  std::unique_ptr<PeerProduct> product = nullptr;
  std::string reason = {};
};

void validate(const PeerProductArgs& args);
PeerProductReport open_peer_product(const Context& context, const PeerProductArgs& args);

}  // namespace twill
