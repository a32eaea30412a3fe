// SPDX-License-Identifier: Apache-2.0
#include "ops/adamw.h"

#include <cmath>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class T>
void run(const AdamwArgs& args) {
  const double correction1 = 1.0 - std::pow(args.beta1, static_cast<double>(args.step));
  const double correction2 = 1.0 - std::pow(args.beta2, static_cast<double>(args.step));
  const T* grad = args.grad.as<T>();
  T* weight = args.weight.as<T>();
  T* m = args.m.as<T>();
  T* v = args.v.as<T>();
  for (std::int64_t i = 0; i < args.weight.num_elements(); ++i) {
    const double g = args.grad_scale * grad[i];
    const double new_m = args.beta1 * m[i] + (1.0 - args.beta1) * g;
    const double new_v =
        args.freeze_v ? double{v[i]} : args.beta2 * v[i] + (1.0 - args.beta2) * g * g;
    const double v_hat = args.freeze_v ? new_v : new_v / correction2;
    const double update = new_m / correction1 / (std::sqrt(v_hat) + args.eps);
    weight[i] = static_cast<T>(weight[i] - args.lr * (update + args.weight_decay * weight[i]));
    m[i] = static_cast<T>(new_m);
    v[i] = static_cast<T>(new_v);
  }
}

}  // namespace

void adamw(const AdamwArgs& args, const Device&, Queue&) {
  with_element_type(args.weight.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
