// SPDX-License-Identifier: Apache-2.0
// The two-oracle rule, for chains too long for a formula: our error is at most twice the error of a
// naive computation in the same precision, both measured against the f64 oracle.
//
// Errors are compared relative to the size of the terms behind each element. The naive error is the
// worst one over the tensor, so that one lucky naive element condemns nobody; a floor of a few
// roundings serves tensors so small that the naive computation is lucky everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "support/expected.h"

namespace twill {

// A number that remembers how large its terms were. A naive computation, templated on its number
// type, yields the naive result with float and the scale of every output with Tracked.
struct Tracked {
  double value = 0.0;
  double scale = 0.0;

  Tracked() = default;
  explicit Tracked(double v) : value(v), scale(std::abs(v)) {}
  Tracked(double v, double s) : value(v), scale(s) {}

  friend Tracked operator+(Tracked a, Tracked b) { return {a.value + b.value, a.scale + b.scale}; }
  friend Tracked operator-(Tracked a, Tracked b) { return {a.value - b.value, a.scale + b.scale}; }
  friend Tracked operator*(Tracked a, Tracked b) { return {a.value * b.value, a.scale * b.scale}; }
  friend Tracked operator/(Tracked a, Tracked b) {
    return {a.value / b.value, a.scale * b.scale / (b.value * b.value)};
  }
  Tracked& operator+=(Tracked b) { return *this = *this + b; }
  friend bool operator<(Tracked a, Tracked b) { return a.value < b.value; }
};

// Forgets the terms: for quantities on which the result depends to second order only.
inline Tracked fresh(Tracked x) { return Tracked(x.value); }
inline float fresh(float x) { return x; }

// f(x) has its own size, and passes on the error of x times the slope.
inline Tracked through(Tracked x, double f, double slope) {
  return {f, std::abs(f) + std::abs(slope) * x.scale};
}
inline Tracked exp(Tracked x) { return through(x, std::exp(x.value), std::exp(x.value)); }
inline Tracked log(Tracked x) { return through(x, std::log(x.value), 1.0 / x.value); }
inline Tracked sqrt(Tracked x) {
  const double root = std::sqrt(x.value);
  return through(x, root, root > 0.0 ? 0.5 / root : 0.0);
}
inline Tracked tanh(Tracked x) {
  const double t = std::tanh(x.value);
  return through(x, t, 1.0 - t * t);
}
inline Tracked erf(Tracked x) {
  const double slope = 2.0 * std::numbers::inv_sqrtpi * std::exp(-x.value * x.value);
  return through(x, std::erf(x.value), slope);
}

// The worst error of the naive result, as a multiple of eps times the scale of its element.
inline double naive_error(const std::vector<float>& naive, const std::vector<Expected>& want) {
  double worst = 0.0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double unit = kEpsF32 * want[i].scale + 0x1p-149;
    const double error = std::abs(double{naive[i]} - want[i].value) / unit;
    // A naive overflow gives no licence: our result must still be right.
    if (std::isfinite(error)) worst = std::max(worst, error);
  }
  return worst;
}

// `floor` counts the roundings on the way to one output that any computation has to make.
inline ErrorModel two_oracle_model(const std::vector<float>& naive,
                                   const std::vector<Expected>& want, double floor) {
  return {.terms = 2.0 * naive_error(naive, want) + floor};
}

}  // namespace twill
