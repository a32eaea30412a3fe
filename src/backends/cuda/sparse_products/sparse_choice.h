// SPDX-License-Identifier: Apache-2.0
// Who could compute a 2:4 product on a GPU: the ways that take it, each in several orders of tiles. Knows no CUDA.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backends/cuda/sparse_products/sparse_product.h"
#include "ops/kernel_table.h"

namespace twill::cuda {

struct SparseChoice {
  std::size_t way = 0;  // of SparseChoices::ways()
  SparseOrder order = {};

  friend bool operator==(const SparseChoice&, const SparseChoice&) = default;
};

// How many tiles wide a column of tiles may be.
inline constexpr int kSparseSwizzles[] = {1, 2, 4, 8};

class SparseChoices {
 public:
  // What is made for this generation leaves older ways behind: they need not be timed.
  SparseChoices(std::span<const SparseWay> ways, const SparseProduct& product,
                const Device& device);

  bool empty() const { return possible_.empty(); }
  std::span<const SparseWay> ways() const { return ways_; }
  // Indices of the ways that compute it here, the expected best first.
  std::span<const std::size_t> possible() const { return possible_; }

  // What is taken unheard.
  SparseChoice first() const { return {.way = possible_.front()}; }
  std::vector<SparseChoice> all() const;

 private:
  std::span<const SparseWay> ways_;
  std::vector<std::size_t> possible_;
};

}  // namespace twill::cuda
