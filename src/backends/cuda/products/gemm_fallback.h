// SPDX-License-Identifier: Apache-2.0
// Products that the matrix library does not take, and sums that it cannot add in one call.
#pragma once

#include "ops/products/gemm.h"

namespace twill::cuda {

// All of ops/products/gemm.h but its epilogues; any size and any alignment of an element. c is not empty.
void gemm_fallback(const GemmArgs& args, const Device& device, Queue& queue);

// c = [c] [+ bias] [+ addend] for an f32 c: everything but the product, which is then accumulated.
void gemm_terms(const GemmArgs& args, const Device& device, Queue& queue);

}  // namespace twill::cuda
