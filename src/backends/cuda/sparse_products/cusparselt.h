// SPDX-License-Identifier: Apache-2.0
// A 2:4 product by cuSPARSELt: the best of its algorithms over all the ways to put the product to it
// (peer_form.h). For `twill bench gemm` and tests; nothing else calls it.
#pragma once

#include "ops/products/peer_product.h"

namespace twill::cuda {

// Takes 1 GiB of the GPU beside the operands, twice that while it searches. Whatever the library says
// no to is a reason, no error.
PeerProductReport open_cusparselt_product(const PeerProductArgs& args, const Device& device,
                                          Queue& queue);

}  // namespace twill::cuda
