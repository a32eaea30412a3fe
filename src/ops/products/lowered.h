// SPDX-License-Identifier: Apache-2.0
// Which of the kernels of today's backends takes a product: gemm, x Pᵀ, P b, or the gradient of kept
// entries. For multiply() and for backends that judge.
#pragma once

#include <cstdint>

#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/product.h"
#include "ops/products/times_packed.h"
#include "ops/selection/kept.h"

namespace twill {

struct Lowered {
  enum class Kernel : std::uint8_t { kNone, kGemm, kTimesPacked, kPackedTimes, kKeptGradient };
  Kernel kernel = Kernel::kNone;
  const char* reason = "";  // of kNone
};

// By the product's form alone: layouts, transpositions, parts, epilogue. Types are the backend's to judge.
Lowered lowered(const Product& product);

// The call of that kernel. Of a dense product with a gated activation: the sums alone, into `before`.
GemmArgs gemm_of(const Product& product);
TimesPackedArgs times_packed_of(const Product& product);
PackedTimesArgs packed_times_of(const Product& product);
KeptGradientArgs kept_gradient_of(const Product& product);

// Whether a dense product's activation is an op of its own because it is gated.
bool is_gated_behind_dense(const Product& product);

// "gelu": for names of kernels.
const char* activation_name(Activation activation);
// "transposable 2:4", "2:4", "kept entries"
const char* pattern_name(PackedPattern pattern);

}  // namespace twill
