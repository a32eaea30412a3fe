// SPDX-License-Identifier: Apache-2.0
// A squared-ReLU FFN without biases, and its six products.
#pragma once

#include <gtest/gtest.h>

#include "nn/feed_forward.h"
#include "papers/layer_kit.h"

namespace twill {

struct FfnRun {
  Numbers y, dx, du, dd;
  GemmCall up, down, down_wgrad, down_dgrad, up_wgrad, up_dgrad;  // as the layer ran them
};

class FfnKit : public LayerKit {
 public:
  FfnKit(const KernelTable& table, std::int64_t num_tokens, std::int64_t width, std::int64_t hidden)
      : LayerKit(table, num_tokens),
        layer(builder, "ffn",
              {.width = width, .hidden = hidden, .activation = Activation::kRelu2, .bias = false}) {
    builder.commit();
  }

  FfnSeam& seam() { return builder.ffn_seams().front(); }
  LinearSeam& up() { return builder.linear_seams()[0]; }
  LinearSeam& down() { return builder.linear_seams()[1]; }
  void set_weights(const Numbers& u, const Numbers& d) {
    put(up().weight->value, u.x);
    put(down().weight->value, d.x);
  }

  FfnRun run(const Numbers& x, const Numbers& dy) { return run(pass(), x, dy); }
  FfnRun run(const Pass& at, const Numbers& x, const Numbers& dy) {
    const Tensor x_in = tensor_of(x), dy_in = tensor_of(dy), none(DType::kF32, x.shape());
    Tensor y(DType::kF32, x.shape()), dx(DType::kF32, x.shape());
    recorder.products.clear();
    layer.forward(at, x_in.view(), none.view(), y.view());
    layer.backward(at, x_in.view(), dy_in.view(), dx.view());
    const std::vector<GemmCall>& p = recorder.products;
    EXPECT_EQ(p.size(), 6u);
    return {numbers_in(y.view()),
            numbers_in(dx.view()),
            numbers_in(up().weight->gradient),
            numbers_in(down().weight->gradient),
            p.at(0),
            p.at(1),
            p.at(2),
            p.at(3),
            p.at(4),
            p.at(5)};
  }

  FeedForward layer;
};

inline Numbers relu2(Numbers z) {
  for (double& x : z.x) x = x > 0.0 ? x * x : 0.0;
  return z;
}
// dA · 2 max(z, 0)
inline Numbers relu2_gradient(Numbers da, const Numbers& z) {
  for (std::size_t i = 0; i < da.x.size(); ++i) da.x[i] *= z.x[i] > 0.0 ? 2.0 * z.x[i] : 0.0;
  return da;
}

}  // namespace twill
