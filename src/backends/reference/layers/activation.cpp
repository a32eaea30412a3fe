// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/activation.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Φ by erfc of the other sign: no cancellation in the negative tail.
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_pdf(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The argument of tanh in gelu_new, and its derivative.
constexpr double kRoot2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
double tanh_argument(double x) { return kRoot2OverPi * (x + 0.044715 * x * x * x); }
double tanh_argument_slope(double x) { return kRoot2OverPi * (1.0 + 3.0 * 0.044715 * x * x); }

// (1 + tanh(u)) / 2 without cancellation.
double half_one_plus_tanh(double u) { return sigmoid(2.0 * u); }

// f(x), with the limits at -Inf, where the product form would be Inf times 0.
double f(Activation kind, double x) {
  if (x == -kInf) return 0.0;
  switch (kind) {
    case Activation::kGelu:
    case Activation::kGeglu:
      return x * normal_cdf(x);
    case Activation::kGeluTanh:
    case Activation::kGegluTanh:
      return x * half_one_plus_tanh(tanh_argument(x));
    case Activation::kRelu2:
      return x > 0.0 || std::isnan(x) ? x * x : 0.0;
    case Activation::kSwiglu:
      return x * sigmoid(x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// f'(x), with its limits at both infinities.
double slope(Activation kind, double x) {
  if (x == -kInf) return 0.0;
  if (x == kInf) return kind == Activation::kRelu2 ? kInf : 1.0;
  switch (kind) {
    case Activation::kGelu:
    case Activation::kGeglu:
      return normal_cdf(x) + x * normal_pdf(x);
    case Activation::kGeluTanh:
    case Activation::kGegluTanh: {
      const double s = half_one_plus_tanh(tanh_argument(x));
      const double one_minus_s = half_one_plus_tanh(-tanh_argument(x));
      return s + x * 2.0 * s * one_minus_s * tanh_argument_slope(x);
    }
    case Activation::kRelu2:
      return x > 0.0 || std::isnan(x) ? 2.0 * x : 0.0;
    case Activation::kSwiglu:
      return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

template <class T>
void forward(const ActivationForwardArgs& args) {
  const std::int64_t F = args.y.cols();
  const T* x = args.x.as<T>();
  T* y = args.y.as<T>();
  for (std::int64_t r = 0; r < args.y.rows(); ++r) {
    for (std::int64_t c = 0; c < F; ++c) {
      if (is_gated(args.kind)) {
        const double value = x[r * 2 * F + c], gate = x[r * 2 * F + F + c];
        y[r * F + c] = static_cast<T>(value * f(args.kind, gate));
      } else {
        const double argument = x[r * F + c];
        y[r * F + c] = static_cast<T>(f(args.kind, argument));
        if (args.slope) args.slope.as<T>()[r * F + c] = static_cast<T>(slope(args.kind, argument));
      }
    }
  }
}

template <class T>
void backward(const ActivationBackwardArgs& args) {
  const std::int64_t F = args.dy.cols();
  const T* x = args.x.as<T>();
  const T* dy = args.dy.as<T>();
  T* dx = args.dx.as<T>();
  for (std::int64_t r = 0; r < args.dy.rows(); ++r) {
    for (std::int64_t c = 0; c < F; ++c) {
      const double d = dy[r * F + c];
      if (is_gated(args.kind)) {
        const std::int64_t at_value = r * 2 * F + c, at_gate = at_value + F;
        const double value = x[at_value], gate = x[at_gate];
        dx[at_value] = static_cast<T>(d * f(args.kind, gate));
        dx[at_gate] = static_cast<T>(d * value * slope(args.kind, gate));
      } else {
        dx[r * F + c] = static_cast<T>(d * slope(args.kind, x[r * F + c]));
      }
    }
  }
}

}  // namespace

void activation_forward(const ActivationForwardArgs& args, const Device&, Queue&) {
  with_element_type(args.y.dtype(), [&]<class T>(T) { forward<T>(args); });
}

void activation_backward(const ActivationBackwardArgs& args, const Device&, Queue&) {
  with_element_type(args.dx.dtype(), [&]<class T>(T) { backward<T>(args); });
}

}  // namespace twill::reference
