// SPDX-License-Identifier: Apache-2.0
// The three products of one linear layer on random data, with everything that a step computes with them
// (LinearSeam says what): bias, residual, an FFN's activation or its gradient, a bias's sums.
#pragma once

#include <cstdint>

#include "nn/seam.h"
#include "ops/context.h"
#include "ops/packing/packed_matrix.h"
#include "ops/products/gemm.h"
#include "ops/selection/mvue24.h"
#include "tensor/tensor.h"

namespace twill {

// Uniform in [-reach, reach), the same for the same stream; f32 or bf16, on the context's device.
Tensor random_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                     std::uint64_t stream, DType type, double reach = 1.0);
// Weights that make numbers of variance 1 out of such with reach 1. An activation and its slope are then as
// varied as in a model: numbers that are all 0 or 1 take less power, and time, to multiply.
Tensor random_weights(const Context& context, std::int64_t outputs, std::int64_t inputs,
                      std::uint64_t stream, DType type);

class LayerWork {
 public:
  // `samples`: the weight's gradient is one of a sample, if not here then where wgrad() is compared with.
  // `type` is that of activations and operands.
  LayerWork(const Context& context, const LinearSeam& seam, std::int64_t tokens, DType type,
            bool samples);

  // With the dense weight, or with what is packed of it, or of its transposed.
  void forward(const PackedMatrix* packed);
  void dgrad(const PackedMatrix* packed);
  // With the bias's sums and an activation's gradient where a sample comes with them.
  void wgrad();
  // By a packed sample; not where the backend has none.
  bool can_sample() const { return sample_bytes_ > 0; }
  void sampled_wgrad(MvueLaw law);

  ConstView x() const { return x_.view(); }  // (tokens, inputs)
  View y() { return y_.view(); }             // (tokens, outputs)
  View dx() { return dx_.view(); }
  ConstView operand() const { return operand_.view(); }
  View gradient() { return gradient_.view(); }

 private:
  void run(const GemmArgs& product, const PackedMatrix* packed) const;
  ActivationBackwardArgs activation_gradient();
  View dy() { return gradient_with_sample_ ? dbefore_.view() : y_.view(); }

  const Context& context_;
  const LinearSeam& seam_;
  bool samples_;
  bool gradient_with_sample_;  // of the activation behind this layer
  PackedShape sample_shape_;
  std::int64_t sample_bytes_;
  Tensor x_, y_, dx_, operand_, gradient_;
  Tensor bias_, bias_sums_, residual_;
  // An activation's. y keeps its random numbers where there is one: it is dy too.
  Tensor before_, activated_;
  Tensor dbefore_, sample_, packed_sample_;
};

}  // namespace twill
