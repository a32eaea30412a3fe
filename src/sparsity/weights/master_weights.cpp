// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/master_weights.h"

namespace twill {

MasterWeights::MasterWeights(std::deque<SparseLayer>& layers) : layers_(layers) {
  for (SparseLayer& layer : layers_) {
    Route& route = layer.seam->route;
    saved_.push_back(route);
    if (route.takes_weight()) continue;  // a kept topology: products take the master
    route.forward.operand = route.dgrad.operand = {};
    route.drop_packed();
  }
}

MasterWeights::~MasterWeights() {
  for (std::size_t i = 0; i < saved_.size(); ++i) layers_[i].seam->route = saved_[i];
}

}  // namespace twill
