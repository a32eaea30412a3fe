// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/rms_norm.h"

#include <cmath>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "ops/numbers/column_sum.h"

namespace twill::reference {
namespace {

template <class T>
void forward(const RmsNormForwardArgs& args) {
  const std::int64_t C = args.x.cols();
  const T* weight = args.weight.as<T>();
  for (std::int64_t r = 0; r < args.x.rows(); ++r) {
    const T* x = args.x.as<T>() + r * C;
    T* y = args.y.as<T>() + r * C;
    double sum = 0.0;
    for (std::int64_t c = 0; c < C; ++c) sum += double{x[c]} * x[c];
    const double rstd = 1.0 / std::sqrt(sum / static_cast<double>(C) + args.eps);
    for (std::int64_t c = 0; c < C; ++c) y[c] = static_cast<T>(x[c] * rstd * weight[c]);
    args.rstd.as<T>()[r] = static_cast<T>(rstd);
  }
}

template <class T>
void backward_dx(const RmsNormBackwardArgs& args) {
  const std::int64_t C = args.x.cols();
  const T* weight = args.weight.as<T>();
  for (std::int64_t r = 0; r < args.x.rows(); ++r) {
    const T* x = args.x.as<T>() + r * C;
    const T* dy = args.dy.as<T>() + r * C;
    T* dx = args.dx.as<T>() + r * C;
    const double rstd = args.rstd.as<T>()[r];
    double mean_gn = 0.0;
    for (std::int64_t c = 0; c < C; ++c)
      mean_gn += double{dy[c]} * weight[c] * x[c] * rstd / static_cast<double>(C);
    for (std::int64_t c = 0; c < C; ++c) {
      const double g = double{dy[c]} * weight[c], n = x[c] * rstd;
      const double added_to = args.accumulate_dx ? dx[c] : T{0};
      dx[c] = static_cast<T>(added_to + rstd * (g - n * mean_gn));
    }
  }
}

template <class T>
void backward_weight(const RmsNormBackwardArgs& args) {
  const std::int64_t C = args.x.cols();
  for (std::int64_t c = 0; c < C; ++c) {
    double sum = args.accumulate ? args.dweight.as<T>()[c] : T{0};
    for (std::int64_t r = 0; r < args.x.rows(); ++r) {
      const double rstd = args.rstd.as<T>()[r];
      sum += double{args.dy.as<T>()[r * C + c]} * args.x.as<T>()[r * C + c] * rstd;
    }
    args.dweight.as<T>()[c] = static_cast<T>(sum);
  }
}

}  // namespace

void rms_norm_forward(const RmsNormForwardArgs& args, const Device&, Queue&) {
  with_element_type(args.weight.dtype(), [&]<class T>(T) { forward<T>(args); });
}

void rms_norm_backward(const RmsNormBackwardArgs& args, const Device& device, Queue& queue) {
  with_element_type(args.weight.dtype(), [&]<class T>(T) {
    backward_weight<T>(args);
    backward_dx<T>(args);  // behind: dx may be the memory of dy
  });
  if (args.dx_sum)
    column_sum({.x = args.dx, .sum = args.dx_sum, .accumulate = args.accumulate}, device, queue);
}

}  // namespace twill::reference
