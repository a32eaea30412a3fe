// SPDX-License-Identifier: Apache-2.0
// The judge: is a computed value as close to the oracle's as its arithmetic allows?
//
// Values are held in double on both sides: every f32 is a double, so nothing is lost.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace twill {

using Values = std::vector<double>;

// Unit roundoff: one rounding to nearest changes a value by at most eps times its size.
constexpr double kEpsF32 = 0x1p-24;
constexpr double kEpsBf16 = 0x1p-8;
constexpr double kEpsF64 = 0x1p-53;

// What the oracle knows about one output: its value, and the size of the terms it was summed from.
struct Expected {
  double value;
  double scale;  // sum of |terms|; equals |value| when nothing cancels
};

// |got - value| <= terms * eps_acc * scale  +  eps_out * |value|
//                  accumulation                final rounding
struct ErrorModel {
  double terms;
  double eps_acc = kEpsF32;
  double eps_out = kEpsF32;
  double floor = 0.0;  // an error that never counts

  double bound(const Expected& want) const {
    // Below the normal range a rounding costs half a subnormal step, however small the value.
    const double underflow = eps_acc == kEpsF32 ? terms * 0x1p-149 : 0.0;
    return terms * eps_acc * want.scale + eps_out * std::abs(want.value) + underflow + floor;
  }
};

// Error as a multiple of the bound. Anything that is not a number is infinitely wrong.
inline double excess(double got, const Expected& want, const ErrorModel& model) {
  if (got == want.value) return 0.0;
  const double error = std::abs(got - want.value);
  const double ratio = error / model.bound(want);
  return std::isfinite(ratio) ? ratio : std::numeric_limits<double>::infinity();
}

inline bool all_zero(const std::vector<Expected>& want) {
  for (const Expected& expected : want)
    if (expected.value != 0.0) return false;
  return true;
}

// TWILL_TEST_BOUNDS=1 shows how much of each bound is used, so that slack ones can be tightened.
inline void report_bound_use(std::string_view what, double worst) {
  if (std::getenv("TWILL_TEST_BOUNDS") != nullptr)
    std::cout << fmt::format("bound {}: {:.3f} used\n", what, worst);
}

// Every element within its bound; the message names the worst. No element at all is fine, but an
// oracle that is zero everywhere proves nothing and fails.
inline testing::AssertionResult expect_close(std::string_view what, const Values& got,
                                             const std::vector<Expected>& want,
                                             const ErrorModel& model) {
  if (got.size() != want.size())
    return testing::AssertionFailure()
           << fmt::format("{}: {} elements, expected {}", what, got.size(), want.size());
  if (!want.empty() && all_zero(want))
    return testing::AssertionFailure() << fmt::format("{}: the oracle is zero everywhere", what);
  double worst = 0.0;
  std::size_t worst_index = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double ratio = excess(got[i], want[i], model);
    if (ratio > worst) worst = ratio, worst_index = i;
  }
  report_bound_use(what, worst);
  if (worst <= 1.0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << fmt::format("{}[{}]: got {:.9g}, want {:.9g}, error/bound {:.3g} ({} elements)", what,
                        worst_index, got[worst_index], want[worst_index].value, worst, got.size());
}

// Equal bits, so also equal signs of zero. NaN equals NaN, whatever its payload.
inline testing::AssertionResult expect_same_bits(std::string_view what, const Values& got,
                                                 const Values& want) {
  if (got.size() != want.size())
    return testing::AssertionFailure()
           << fmt::format("{}: {} elements, expected {}", what, got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    if (std::bit_cast<std::uint64_t>(got[i]) != std::bit_cast<std::uint64_t>(want[i]))
      return testing::AssertionFailure()
             << fmt::format("{}[{}]: got {:.9g}, want exactly {:.9g}", what, i, got[i], want[i]);
  }
  return testing::AssertionSuccess();
}

// NaN where NaN is owed, infinities of the right sign, finite numbers elsewhere.
inline testing::AssertionResult expect_same_specials(std::string_view what, const Values& got,
                                                     const Values& want) {
  if (got.size() != want.size())
    return testing::AssertionFailure()
           << fmt::format("{}: {} elements, expected {}", what, got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool both_nan = std::isnan(got[i]) && std::isnan(want[i]);
    const bool same_infinity = std::isinf(want[i]) && got[i] == want[i];
    const bool both_finite = std::isfinite(got[i]) && std::isfinite(want[i]);
    if (!both_nan && !same_infinity && !both_finite)
      return testing::AssertionFailure()
             << fmt::format("{}[{}]: got {}, want {}", what, i, got[i], want[i]);
  }
  return testing::AssertionSuccess();
}

}  // namespace twill
