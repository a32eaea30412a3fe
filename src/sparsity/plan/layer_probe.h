// SPDX-License-Identifier: Apache-2.0
// One linear layer on random data, to be timed: dense, packed, and what keeps the packed weights up
// to date.
#pragma once

#include <cstdint>

#include "nn/seam.h"
#include "ops/context.h"
#include "sparsity/plan/layer_work.h"
#include "sparsity/plan/plan.h"
#include "tensor/tensor.h"

namespace twill {

class LayerProbe {
 public:
  // `seam` gives the shape and the axis of its patterns; no weight of it is read. `type` is that of
  // activations and operands; `samples`: the recipe wants gradients of samples.
  LayerProbe(const Context& context, const LinearSeam& seam, std::int64_t tokens, DType type,
             bool samples = false);

  // The three products with dense operands and nothing else.
  ProductSeconds dense();
  // Forward of them, for as long as a GPU at its power limit needs to settle, and two seconds more: 671, 670
  // TFLOP/s where windows of half a second differ by 2 %.
  double settled_seconds();

  // The products as a step computes them (layer_work.h): with dense operands, and as a pattern packs them
  // by the part's own rules, wgrad by a sample; infinite what the recipe or the backend does not pack.
  struct Compared {
    ProductSeconds dense, packed;
  };
  Compared compare(const PhaseConfig& phase);
  // Which products of a pattern take a packed weight, and whether decay is a pass of its own.
  struct Upkeep {
    bool packs_forward = true;
    bool packs_dgrad = true;
    bool decays_apart = true;
  };
  // Of a step: masks at their true frequency, projection, packing, decay.
  double pattern_upkeep(const PhaseConfig& phase, const Upkeep& upkeep);

  // Of a kept topology of random entries.
  struct Topology {
    ProductSeconds products;
    double upkeep = 0.0;    // of a step
    double new_mask = 0.0;  // of one that has moved: packing, kept entries found anew
  };
  Topology topology(double density);

 private:
  struct Side;
  struct PatternLayer;
  Tensor random_mask(double density) const;
  void heat();
  PackedShape any_shape(bool transpose, std::int64_t max_kept) const;
  ProductSeconds products(Side& forward, Side& dgrad);
  // Of a step's packing, both sides at once where both are packed.
  double pack_seconds(Side& forward, Side& dgrad, bool same_mask);

  const Context& context_;
  const LinearSeam& seam_;
  std::int64_t outputs_, inputs_;
  DType type_;
  LayerWork work_;
  Tensor weight_;
};

}  // namespace twill
