// SPDX-License-Identifier: Apache-2.0
// One update of AdamW as a Problem of support/judge.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "ops/update/adamw.h"
#include "support/judge.h"

namespace twill {

struct AdamwProblem {
  Values weight, grad, m, v;
  double lr = 1e-3;
  double weight_decay = 0.1;
  double grad_scale = 0.5;
  std::int64_t step = 3;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  bool freeze_v = false;
  bool bf16_moments = false;
  std::uint64_t seed = 7, stream = 0;

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(weight.size())};
    const Buffer weight_out = setup.wide(weight), grad_in = setup.wide(grad);
    const DType moments = bf16_moments ? DType::kBf16 : wide_type(setup.dtype);
    const Buffer m_out = setup.buffer(m, moments), v_out = setup.buffer(v, moments);
    adamw(*setup.context(), {.weight = weight_out.view(shape),
                             .grad = grad_in.view(shape),
                             .m = m_out.view(shape),
                             .v = v_out.view(shape),
                             .lr = lr,
                             .beta1 = beta1,
                             .beta2 = beta2,
                             .eps = eps,
                             .weight_decay = weight_decay,
                             .grad_scale = grad_scale,
                             .step = step,
                             .freeze_v = freeze_v,
                             .seed = seed,
                             .stream = stream});
    EXPECT_EQ(grad_in.values(), grad) << "the gradient is not changed";
    return {{"weight", weight_out.values()}, {"m", m_out.values()}, {"v", v_out.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    using std::sqrt;
    Naive<N> out(3);
    const N correction1 = N(1.0 - std::pow(beta1, static_cast<double>(step)));
    const N correction2 = N(1.0 - std::pow(beta2, static_cast<double>(step)));
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const N g = N(grad_scale) * N(grad[i]), w = N(weight[i]);
      const N new_m = N(beta1) * N(m[i]) + N(1.0 - beta1) * g;
      const N new_v = freeze_v ? N(v[i]) : N(beta2) * N(v[i]) + N(1.0 - beta2) * g * g;
      const N v_hat = freeze_v ? new_v : new_v / correction2;
      const N update = new_m / correction1 / (sqrt(v_hat) + N(eps));
      out[0].push_back(w - N(lr) * (update + N(weight_decay) * w));
      out[1].push_back(new_m);
      out[2].push_back(new_v);
    }
    return out;
  }
};

inline AdamwProblem random_problem(Random& random, std::int64_t count, double spread = 1.0) {
  AdamwProblem problem{.weight = random.normal(count),
                       .grad = random.normal(count, spread),
                       .m = random.normal(count, spread),
                       .v = random.normal(count, spread)};
  for (double& v : problem.v) v = static_cast<float>(v * v);
  return problem;
}

}  // namespace twill
