// SPDX-License-Identifier: Apache-2.0
// One linear layer of a model on random data, to be timed: the layer itself (nn/linear.h), built as its site
// describes it, with everything that a step computes with its products (bias, residual, an FFN's activation or
// its gradient, a bias's sums), dense and packed; and what keeps packed weights up to date.
#pragma once

#include <cstdint>
#include <optional>

#include "nn/linear.h"
#include "nn/seam.h"
#include "ops/context.h"
#include "sparsity/plan/plan.h"
#include "tensor/tensor.h"

namespace twill {

class LayerProbe {
 public:
  // `site` says what the layer is; no weight of it is read. `type` is that of activations and operands;
  // `samples`: the recipe wants gradients of samples.
  LayerProbe(const Context& context, const LinearSeam& site, std::int64_t tokens, DType type,
             bool samples = false);

  // The three products with dense operands, without what an FFN or a residual adds to them.
  ProductSeconds dense();
  // A forward product, for as long as a GPU at its power limit needs to settle, and two seconds more: 671, 670
  // TFLOP/s where windows of half a second differ by 2 %.
  double settled_seconds();

  // The products as a step computes them: with dense operands, and as a pattern packs them by the part's own
  // rules, wgrad by a sample; infinite what the recipe or the backend does not pack.
  struct Compared {
    ProductSeconds dense, packed;
  };
  Compared compare(const PhaseConfig& phase);
  // The dense part of compare() alone.
  ProductSeconds as_in_a_step();
  // wgrad by a sample that keeps its zeros, less the dense one of `compare`.
  double sampling(const PhaseConfig& phase, double dense_wgrad);
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

  // Each product once, for who looks on (OpObserver): with dense operands, as the part `weights` and the
  // estimator of a phase pack them, or of a kept topology.
  void run_dense();
  void run_pattern(const PhaseConfig& phase);
  void run_topology(double density);

 private:
  struct Side;
  struct PatternLayer;
  struct KeptLayer;
  // The products as the layer's site has them, by the route as it stands.
  void forward();
  void dgrad();
  void wgrad();
  // Through the packed sample, by this estimator; false: the backend has none.
  bool route_sample(WgradEstimator estimator);
  bool keeps_slope_of(const std::optional<Activation>& f, const Form& form) const;
  ActivationBackwardArgs activation_gradient();
  View dy() { return gradient_with_sample_ ? dbefore_.view() : y_.view(); }

  Tensor random_mask(double density) const;
  void heat();
  PackedShape any_shape(bool transpose, std::int64_t max_kept) const;
  // Of a step's packing, both sides at once where both are packed.
  double pack_seconds(Side& forward, Side& dgrad, bool same_mask);

  const Context& context_;
  std::int64_t outputs_, inputs_, tokens_;
  DType type_;
  bool samples_;
  bool gradient_with_sample_;  // of the activation behind this layer
  Builder builder_;
  Linear linear_;
  LinearSeam& seam_;
  Pass pass_;
  Tensor x_, y_, dx_, residual_;
  // An activation's. y keeps its random numbers where there is one: it is dy too.
  Tensor before_, activated_, dbefore_;
};

}  // namespace twill
