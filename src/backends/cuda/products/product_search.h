// SPDX-License-Identifier: Apache-2.0
// Finds the quickest algorithm for a product by running it.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/products/product_file.h"
#include "backends/cuda/runtime/queue.h"
#include "ops/products/gemm.h"

namespace twill::cuda {

// "gemm (16384, 6400, 1600)", for people.
std::string name_of(const GemmArgs& args);

// Where a search runs. `workspace` has kWorkspaceBytes.
struct SearchPlace {
  cublasLtHandle_t handle;
  std::byte* workspace;
  const CudaQueue& queue;
  double seconds;  // to try candidates in, but for the library's first few
};

// All algorithms that the library may propose for `args`, its own choice first; each one takes()
// it.
std::vector<Algorithm> proposals_for(const GemmArgs& args, cublasLtHandle_t handle);

// The quickest of `proposals` and of what follows from them by other settings. Runs the product on
// its real operands, many times; c is about to be overwritten, and a c that is added to is left
// alone. nullopt, and one line in the log: it could not be timed, for lack of memory or because no
// algorithm ran.
std::optional<Algorithm> search(const GemmArgs& args, std::vector<Algorithm> proposals,
                                const SearchPlace& place);

// Whether `other` clearly takes less time than `usual`; both run several times.
bool is_quicker(const std::function<void()>& other, const std::function<void()>& usual,
                const CudaQueue& queue);

}  // namespace twill::cuda
