// SPDX-License-Identifier: Apache-2.0
// The plain model: forward and dgrad take the master weights while one of these lives.
#pragma once

#include <deque>
#include <vector>

#include "sparsity/weights/weight_projection.h"

namespace twill {

class MasterWeights {
 public:
  explicit MasterWeights(std::deque<SparseLayer>& layers);
  ~MasterWeights();
  MasterWeights(const MasterWeights&) = delete;
  MasterWeights& operator=(const MasterWeights&) = delete;

 private:
  std::deque<SparseLayer>& layers_;
  std::vector<Route> saved_;
};

}  // namespace twill
