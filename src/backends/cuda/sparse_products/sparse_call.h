// SPDX-License-Identifier: Apache-2.0
// One 2:4 product as a launch: with the workspace of its queue, and timed against its other ways.
#pragma once

#include "backends/cuda/packing/packed_operand.h"
#include "backends/cuda/runtime/stopwatch.h"
#include "backends/cuda/sparse_products/sparse_choice.h"

namespace twill::cuda {

class SparseCall {
 public:
  SparseCall(const SparseChoices& choices, const SparseProduct& product, const Device& device,
             Queue& queue)
      : choices_(choices), product_(product), device_(device), queue_(queue) {}

  // False: it does not run.
  bool launch(const SparseChoice& choice) const;

  // Whether a stopwatch may decide: not of what is small, of what adds to its own result or while the queue
  // records.
  bool may_time() const;
  // By a race of all choices, each launched several times over.
  SparseChoice quickest() const;

 private:
  void heat(Stopwatch& stopwatch, const SparseChoice& choice) const;

  const SparseChoices& choices_;
  const SparseProduct& product_;
  const Device& device_;
  Queue& queue_;
};

// P with its zeros, bf16, in memory of the queue: until the next call.
View unpacked_scratch(const PackedMatrix& packed, const Device& device, Queue& queue);

}  // namespace twill::cuda
