// SPDX-License-Identifier: Apache-2.0
// A layer on the reference backend in f64, and the check of all its gradients.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "nn/builder.h"
#include "nn/pass.h"
#include "ops/numbers/column_sum.h"
#include "support/finite_difference.h"
#include "support/seeds.h"
#include "tensor/tensor.h"

namespace twill {

inline Values values_of(ConstView view) {
  const double* data = view.as<double>();
  return {data, data + view.num_elements()};
}

inline void assign(View view, const Values& values) {
  ASSERT_EQ(static_cast<std::size_t>(view.num_elements()), values.size());
  std::ranges::copy(values, view.as<double>());
}

class LayerBench {
 public:
  static constexpr std::int64_t kBatch = 2, kTime = 3;

  struct Options {
    const KernelTable* table = &reference_table();  // one that runs f64
    bool selects_activations = false;
    bool rounds_operands = false;
  };

  LayerBench(std::int64_t in_width, std::int64_t out_width) : LayerBench(in_width, out_width, {}) {}
  LayerBench(std::int64_t in_width, std::int64_t out_width, const Options& options)
      : context(*options.table, 1),
        builder(context, {.dtype = DType::kF64,
                          .training = true,
                          .max_batch = kBatch,
                          .max_time = kTime,
                          .rounds_operands = options.rounds_operands,
                          .selects_activations = options.selects_activations}),
        x(DType::kF64, {kBatch * kTime, in_width}),
        out(DType::kF64, {kBatch * kTime, out_width}),
        dx(DType::kF64, {kBatch * kTime, in_width}),
        dout(DType::kF64, {kBatch * kTime, out_width}) {}

  Pass pass() const {
    return {.context = context, .batch = kBatch, .time = kTime, .training = true, .seed = 7};
  }

  // `forward` writes out from x, `backward` writes dx and the parameters' gradients from dout.
  void check(const std::function<void()>& forward, const std::function<void()>& backward) {
    assign(x.view(), random.normal(x.view().num_elements()));
    assign(dout.view(), random.normal(dout.view().num_elements()));
    for (Parameter& parameter : builder.parameters())
      assign(parameter.value, random.normal(parameter.value.num_elements(), 0.5, 0.2));
    forward();
    backward();
    const auto loss_at = [&](View place) {
      return [this, place, &forward](const Values& values) {
        const Values kept = values_of(place);
        assign(place, values);
        forward();
        const Expected loss = weighted_sum(values_of(out.view()), values_of(dout.view()));
        assign(place, kept);
        return loss;
      };
    };
    EXPECT_TRUE(expect_gradient("x", loss_at(x.view()), values_of(x.view()), values_of(dx.view())));
    for (Parameter& parameter : builder.parameters())
      EXPECT_TRUE(expect_gradient(parameter.name.c_str(), loss_at(parameter.value),
                                  values_of(parameter.value), values_of(parameter.gradient)));
  }

  // The backward pass of a branch: what made dout has summed it up for the last bias.
  template <class Layer>
  void backward(const Layer& layer, const Pass& pass) {
    sum_dout(layer.dout_sum(pass));
    layer.backward(pass, x.view(), dout.view(), dx.view());
  }
  void sum_dout(View sum) {
    if (sum) column_sum(context, {.x = dout.view(), .sum = sum});
  }

  Context context;
  Builder builder;
  Random random;
  Tensor x, out, dx, dout;
};

}  // namespace twill
