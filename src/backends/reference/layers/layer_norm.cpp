// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/layer_norm.h"

#include <cmath>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "ops/numbers/column_sum.h"

namespace twill::reference {
namespace {

template <class T>
double mean_of(const T* x, std::int64_t C) {
  double sum = 0.0;
  for (std::int64_t c = 0; c < C; ++c) sum += x[c];
  return sum / static_cast<double>(C);
}

template <class T>
double variance_of(const T* x, double mean, std::int64_t C) {
  double sum = 0.0;
  for (std::int64_t c = 0; c < C; ++c) sum += (x[c] - mean) * (x[c] - mean);
  return sum / static_cast<double>(C);
}

template <class T>
void forward(const LayerNormForwardArgs& args) {
  const std::int64_t C = args.x.cols();
  const T* weight = args.weight.as<T>();
  const T* bias = data_or_null<T>(args.bias);
  for (std::int64_t r = 0; r < args.x.rows(); ++r) {
    const T* x = args.x.as<T>() + r * C;
    T* y = args.y.as<T>() + r * C;
    const double mean = mean_of(x, C);
    const double rstd = 1.0 / std::sqrt(variance_of(x, mean, C) + args.eps);
    for (std::int64_t c = 0; c < C; ++c)
      y[c] = static_cast<T>((x[c] - mean) * rstd * weight[c] + (bias != nullptr ? bias[c] : T{0}));
    args.mean.as<T>()[r] = static_cast<T>(mean);
    args.rstd.as<T>()[r] = static_cast<T>(rstd);
  }
}

template <class T>
void backward_dx(const LayerNormBackwardArgs& args) {
  const std::int64_t C = args.x.cols();
  const T* weight = args.weight.as<T>();
  for (std::int64_t r = 0; r < args.x.rows(); ++r) {
    const T* x = args.x.as<T>() + r * C;
    const T* dy = args.dy.as<T>() + r * C;
    T* dx = args.dx.as<T>() + r * C;
    const double mean = args.mean.as<T>()[r], rstd = args.rstd.as<T>()[r];
    double mean_g = 0.0, mean_gn = 0.0;
    for (std::int64_t c = 0; c < C; ++c) {
      const double g = double{dy[c]} * weight[c], n = (x[c] - mean) * rstd;
      mean_g += g / static_cast<double>(C);
      mean_gn += g * n / static_cast<double>(C);
    }
    for (std::int64_t c = 0; c < C; ++c) {
      const double g = double{dy[c]} * weight[c], n = (x[c] - mean) * rstd;
      const double added_to = args.accumulate_dx ? dx[c] : T{0};
      dx[c] = static_cast<T>(added_to + rstd * (g - mean_g - n * mean_gn));
    }
  }
}

template <class T>
void backward_parameters(const LayerNormBackwardArgs& args) {
  const std::int64_t C = args.x.cols();
  T* dbias = data_or_null<T>(args.dbias);
  for (std::int64_t c = 0; c < C; ++c) {
    double dweight_sum = args.accumulate ? args.dweight.as<T>()[c] : T{0};
    double dbias_sum = args.accumulate && dbias != nullptr ? dbias[c] : T{0};
    for (std::int64_t r = 0; r < args.x.rows(); ++r) {
      const double mean = args.mean.as<T>()[r], rstd = args.rstd.as<T>()[r];
      const double dy = args.dy.as<T>()[r * C + c];
      dweight_sum += dy * (args.x.as<T>()[r * C + c] - mean) * rstd;
      dbias_sum += dy;
    }
    args.dweight.as<T>()[c] = static_cast<T>(dweight_sum);
    if (dbias != nullptr) dbias[c] = static_cast<T>(dbias_sum);
  }
}

}  // namespace

void layer_norm_forward(const LayerNormForwardArgs& args, const Device&, Queue&) {
  with_element_type(args.weight.dtype(), [&]<class T>(T) { forward<T>(args); });
}

void layer_norm_backward(const LayerNormBackwardArgs& args, const Device& device, Queue& queue) {
  with_element_type(args.weight.dtype(), [&]<class T>(T) {
    backward_parameters<T>(args);
    backward_dx<T>(args);  // behind: dx may be the memory of dy
  });
  if (args.dx_sum)
    column_sum({.x = args.dx, .sum = args.dx_sum, .accumulate = args.accumulate}, device, queue);
}

}  // namespace twill::reference
