// SPDX-License-Identifier: Apache-2.0
// Choices of 2:4 products among those of dense ones: in the plan of a queue, the file of a machine and the
// text of a run (products/product_plan.h). Knows no CUDA.
#pragma once

#include <optional>

#include "backends/cuda/products/product_plan.h"
#include "backends/cuda/sparse_products/sparse_choice.h"

namespace twill::cuda {

// A build with other ways, or a GPU that runs others, chooses anew: also against two steps. Whether the product
// adds to what it has written before does not matter to its time.
ProductKey sparse_key(SparseEpilogue epilogue, const SparseProduct& product,
                      const SparseChoices& choices);

// A choice as a line of such a file has it. The name of the way goes into it: another build may have other ways.
Algorithm to_algorithm(const SparseChoices& choices, const SparseChoice& choice);
// Nothing where no way that computes the product is meant.
std::optional<SparseChoice> from_algorithm(const SparseChoices& choices,
                                           const Algorithm& algorithm);

// Whether the run or the machine's file knows who computes it: plan.chosen() afterwards. `has_two_steps`:
// kInTwoSteps is an answer as well.
bool settle_known(const SparseChoices& choices, const ProductKey& key, bool has_two_steps,
                  ProductPlan& plan);

}  // namespace twill::cuda
