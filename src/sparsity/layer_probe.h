// SPDX-License-Identifier: Apache-2.0
// One linear layer on random data, to be timed: dense, packed, and what keeps the packed weights up
// to date.
#pragma once

#include <cstdint>

#include "nn/seam.h"
#include "ops/context.h"
#include "ops/gemm.h"
#include "sparsity/plan.h"
#include "tensor/tensor.h"

namespace twill {

class LayerProbe {
 public:
  // `seam` gives the shape and the axis of its patterns; no weight of it is read. `type` is that of
  // activations and operands.
  LayerProbe(const Context& context, const LinearSeam& seam, std::int64_t tokens, DType type);

  // The three products with dense operands and nothing else.
  ProductSeconds dense();

  // The products with everything that comes with them, an activation or its gradient and a bias's sums:
  // with dense operands, and as a pattern packs them by the part's own rules. wgrad is packed where it
  // is of a sample, else 0; infinite what the backend cannot pack.
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
  Tensor matrix(std::int64_t rows, std::int64_t cols, std::uint64_t stream, DType type) const;
  Tensor random_mask(double density) const;
  void heat();
  PackedShape any_shape(bool transpose, std::int64_t max_kept) const;
  ProductSeconds products(Side& forward, Side& dgrad);
  // As the layer computes them, from the dense weight or from a packed one.
  void run(const GemmArgs& product, const PackedMatrix* packed) const;
  void run_forward(const PackedMatrix* packed);
  void run_dgrad(const PackedMatrix* packed);
  void run_wgrad();
  // Of a step's packing, both sides at once where both are packed.
  double pack_seconds(Side& forward, Side& dgrad, bool same_mask);
  // The draw, the packing and the product of a sample of y; absent: the backend cannot.
  struct SampledWgrad;

  const Context& context_;
  const LinearSeam& seam_;
  std::int64_t tokens_, outputs_, inputs_;
  DType type_;
  Tensor x_, y_, dx_, weight_, operand_, gradient_, bias_;
  Tensor activated_;  // what an activation makes of y
};

}  // namespace twill
