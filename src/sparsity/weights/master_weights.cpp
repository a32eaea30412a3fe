// SPDX-License-Identifier: Apache-2.0
#include "sparsity/weights/master_weights.h"

namespace twill {

MasterWeights::MasterWeights(std::deque<SparseLayer>& layers) : layers_(layers) {
  for (SparseLayer& layer : layers_) {
    LinearSeam& seam = *layer.seam;
    saved_.push_back({seam.forward, seam.dgrad, seam.packed_forward, seam.packed_dgrad});
    if (!seam.forward && !seam.dgrad) continue;  // a kept topology: products take the master
    seam.forward = seam.dgrad = ConstView();
    seam.packed_forward = seam.packed_dgrad = {};
  }
}

MasterWeights::~MasterWeights() {
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    LinearSeam& seam = *layers_[i].seam;
    seam.forward = saved_[i].forward;
    seam.dgrad = saved_[i].dgrad;
    seam.packed_forward = saved_[i].packed_forward;
    seam.packed_dgrad = saved_[i].packed_dgrad;
  }
}

}  // namespace twill
