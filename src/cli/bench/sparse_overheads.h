// SPDX-License-Identifier: Apache-2.0
// What 2:4 training does besides its products, each piece of work alone and beside a copy of as many
// bytes: everything here is bound by memory, or should be.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/gemm_problem.h"

namespace twill::cli {

struct SparseOverhead {
  std::string work;  // "pack W"
  double seconds = 0.0;
  double bytes = 0.0;  // ops/moved_bytes.h

  // Of a copy that moves `copy` bytes per second; 0: not known.
  double share_of(double copy) const { return copy > 0.0 ? bytes / seconds / copy : 0.0; }
};

// Search, packing of W and of Wᵀ from f32 masters, for groups in rows also the soft threshold with its
// packing, masked decay. Several weights take turns, as the layers of a model do: half a GiB of them,
// which no cache holds. Packing of both sides also of all of them at once.
std::vector<SparseOverhead> weight_overheads(const Context& context, const GemmPattern& pattern,
                                             const WeightShape& shape, DType type, double seconds);

// Of a gradient (tokens, outputs): MVUE alone, MVUE with packing, and both with the gradient of
// tanh-GELU or of SwiGLU in one call; SwiGLU and its gradient alone and, where the backend has such
// kernels, in the order of a channel-major product: down the tokens of one channel after the other.
std::vector<SparseOverhead> gradient_overheads(const Context& context, ConstView dy,
                                               double seconds);

}  // namespace twill::cli
