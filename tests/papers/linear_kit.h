// SPDX-License-Identifier: Apache-2.0
// One linear layer with a projected weight: what the layer checks of FST and S-STE look at.
#pragma once

#include "nn/linear.h"
#include "papers/layer_kit.h"

namespace twill {

struct LinearRun {
  Numbers y, dx, dw;
  Values db;
};

class LinearKit : public LayerKit {
 public:
  LinearKit(const KernelTable& table, std::int64_t num_tokens, std::int64_t in, std::int64_t out,
            bool bias = true)
      : LayerKit(table, num_tokens),
        layer(builder, "linear",
              {.in = in, .out = out, .bias = bias, .family = LayerFamily::kFfn}) {
    builder.commit();
  }

  LinearSeam& seam() { return builder.linear_seams().front(); }
  // Forward and dgrad both multiply with it.
  void project_to(const Numbers& projected) {
    projected_ = tensor_of(projected);
    seam().route.forward.operand = seam().route.dgrad.operand = dense(projected_.view());
  }

  LinearRun run(const Numbers& x, const Numbers& dy, std::uint32_t micro_step = 0) {
    const Tensor x_in = tensor_of(x), dy_in = tensor_of(dy);
    Tensor y(DType::kF32, dy.shape()), dx(DType::kF32, x.shape());
    const Pass at = pass(micro_step);
    layer.forward(at, x_in.view(), y.view());
    layer.wgrad(at, x_in.view(), dy_in.view());
    layer.dgrad(at, dy_in.view(), dx.view());
    const bool has_bias = builder.parameters().size() > 1;
    return {numbers_in(y.view()), numbers_in(dx.view()), gradient(0),
            has_bias ? gradient(1).x : Values()};
  }

  Linear layer;

 private:
  Tensor projected_;
};

}  // namespace twill
