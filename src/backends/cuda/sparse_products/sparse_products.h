// SPDX-License-Identifier: Apache-2.0
// Who computes a 2:4 product: the ways of sparse_product.h and their orders (sparse_choice.h) are timed once for a
// shape (sparse_call.h), and the winner is kept with the run and the machine's file as the algorithms of dense
// products are (sparse_cache.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/cuda/packing/packed_operand.h"
#include "backends/cuda/sparse_products/sparse_product.h"
#include "ops/kernel_table.h"

namespace twill::cuda {

// KernelTable::slowed_by_packed. While a process lives that has launched a kernel with mma.sp or wgmma.sp in it,
// whoever wrote it and whether it came to the instruction or not, the driver keeps an H200 at lower clocks under
// its power limit, for everybody on it (docs/results/sparse_h200.md).
double slowed_by_packed(const Device& device);

// A product whose A is `packed`, everything else still to be filled in.
SparseProduct sparse_product(const PackedMatrix& packed);

// The same of rows [row, row + count) of `packed`, or nothing where they cannot be A on their own.
std::optional<SparseProduct> sparse_product(const PackedMatrix& packed, std::int64_t row,
                                            std::int64_t count);

// Runs it; false and nothing done where no way takes the operands. What it writes may be written
// several times over when it is timed, unless it adds to its own result: then it is not timed.
bool run_sparse(SparseEpilogue epilogue, const SparseProduct& product, const Device& device,
                Queue& queue);
// The same for an activation inside the product: false as well where `in_two_steps` is quicker. Where
// another product makes what it reads, that is `first`: it runs before, its time counts, and where it
// does not run (false) neither does the product.
bool run_sparse_fused(SparseEpilogue epilogue, const SparseProduct& product, const Device& device,
                      Queue& queue, const std::function<void()>& in_two_steps,
                      const std::function<bool()>& first = {});

// The name of the way that run_sparse() takes, or would try first; empty: none, or in two steps.
std::string sparse_way_name(SparseEpilogue epilogue, const SparseProduct& product,
                            const Device& device, Queue& queue);

// The same of whole calls, of the sums alone and with the activation inside.
std::string way_of(const TimesPackedArgs& args, const Device& device, Queue& queue);
std::string fused_way_of(const TimesPackedArgs& args, const Device& device, Queue& queue);
std::string way_of(const PackedTimesArgs& args, const Device& device, Queue& queue);

}  // namespace twill::cuda
