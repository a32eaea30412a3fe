// SPDX-License-Identifier: Apache-2.0
// An FFN that selects activations, on random data, to be timed: the selections, and the four products
// that leave the zeros of what is selected out, packing included.
#pragma once

#include <cstdint>

#include "nn/activation_selection.h"
#include "nn/linear.h"
#include "sparsity/plan/plan.h"
#include "tensor/tensor.h"

namespace twill {

class ActivationProbe {
 public:
  // `input` gives the shape: (hidden, width); no weight of it is read.
  ActivationProbe(const Context& context, const LinearSeam& input, std::int64_t tokens,
                  const ActivationsPart& part);

  struct Seconds {
    ProductSeconds input;           // dgrad and wgrad
    ProductSeconds output;          // forward and wgrad
    double input_selection = 0.0;   // of dZ: the forward mask, and the selection along tokens
    double output_selection = 0.0;  // of A: order of tokens, both selections
  };
  // Every activation is there before the selection: zeros that a model has besides are a gain more.
  Seconds measure();
  // The four products once, for who looks on (OpObserver); their sites are "ffn.input" and "ffn.output".
  void run();

 private:
  struct Operands;
  // Calls each(product) for output forward, input dgrad, output wgrad and input wgrad, in this order.
  template <class Each>
  void each_product(Operands& with, const Each& each);
  void point_seam(const ActivationsPart& part);

  const Context& context_;
  std::int64_t tokens_, width_, hidden_;
  double kept_;  // share of the activations
  Builder builder_;
  FfnSeam& seam_;
  Linear input_;
  Linear output_;
  ActivationSelection selection_;
  Tensor fixed_order_, neuron_order_, clusters_, centroids_, dense_neurons_;
};

}  // namespace twill
