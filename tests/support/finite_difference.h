// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences, in f64.
#pragma once

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/expected.h"

namespace twill {

// Σ y w: a scalar whose gradient with respect to y is w, with the size of its terms.
inline Expected weighted_sum(const Values& y, const Values& w) {
  Expected sum{0.0, 0.0};
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum.value += y[i] * w[i];
    sum.scale += std::abs(y[i] * w[i]);
  }
  return sum;
}

// Checks gradient[i] = d loss / d x[i] for every i. `loss` maps Values to Expected.
//
// With D(h) = (loss(x + h) - loss(x - h)) / 2h = slope + c h² + …, the extrapolation
// (4 D(h) - D(2h)) / 3 loses the c h² term, and D(2h) - D(h) = 3 c h² is a generous bound on what
// is left. To it comes the rounding of the losses, 64 eps scale / h. The sum of both must stay
// below 1e-6 of the largest slope, or the test is too blunt to prove anything.
template <class Loss>
testing::AssertionResult expect_gradient(const char* what, const Loss& loss, Values x,
                                         const Values& gradient) {
  constexpr double kStep = 1e-4, kBlunt = 1e-6;
  const double rounding = 64.0 * kEpsF64 * loss(x).scale / kStep;
  double largest = 0.0;
  for (const double slope : gradient) largest = std::max(largest, std::abs(slope));
  if (gradient.size() != x.size() || largest == 0.0)
    return testing::AssertionFailure() << fmt::format("{}: the gradient is empty or zero", what);

  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    const auto difference = [&](double h) {
      x[i] = at + h;
      const double above = loss(x).value;
      x[i] = at - h;
      const double below = loss(x).value;
      x[i] = at;
      return (above - below) / (2.0 * h);
    };
    const double near = difference(kStep), far = difference(2.0 * kStep);
    const double slope = (4.0 * near - far) / 3.0;
    const double tolerance = std::abs(far - near) + rounding;
    if (!(tolerance <= kBlunt * largest))
      return testing::AssertionFailure()
             << fmt::format("{}[{}]: too blunt, tolerance {:.3g} at slopes up to {:.3g}", what, i,
                            tolerance, largest);
    if (!(std::abs(gradient[i] - slope) <= tolerance))
      return testing::AssertionFailure()
             << fmt::format("{}[{}]: gradient {:.12g}, finite difference {:.12g}, tolerance {:.3g}",
                            what, i, gradient[i], slope, tolerance);
  }
  return testing::AssertionSuccess();
}

}  // namespace twill
