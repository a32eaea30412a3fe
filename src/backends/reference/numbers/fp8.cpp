// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/fp8.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

struct Format {
  int fraction_bits;
  int min_exponent;  // of the smallest normal number
  double max;
};
Format format_of(Fp8Format format) {
  if (format == Fp8Format::kE4m3) return {3, -6, 448.0};
  return {2, -14, 57344.0};
}

// The nearest number of the format, by its definition: a multiple of the distance between
// neighbours. A quotient and a product by a power of two are exact.
template <class T>
T nearest(const Format& format, T x) {
  if (x == T{0}) return x;
  const int exponent = std::max(std::ilogb(x), format.min_exponent);
  const T distance = std::ldexp(T{1}, exponent - format.fraction_bits);
  const T rounded = std::nearbyint(x / distance) * distance;
  const T max = static_cast<T>(format.max);
  return std::clamp(rounded, -max, max);
}

template <class T>
void run(const Fp8RoundArgs& args) {
  const T* x = args.x.as<T>();
  T* y = args.y.as<T>();
  const std::int64_t n = args.x.num_elements();
  if (!std::all_of(x, x + n, [](T value) { return std::isfinite(value); })) {
    std::copy(x, x + n, y);
    return;
  }
  const Format format = format_of(args.format);
  T amax{0};
  for (std::int64_t i = 0; i < n; ++i) amax = std::max(amax, std::abs(x[i]));
  T s{1};
  if (amax > T{0}) s = static_cast<T>(format.max) / amax;
  s = std::min(s, std::numeric_limits<T>::max());
  for (std::int64_t i = 0; i < n; ++i) y[i] = nearest(format, x[i] * s) / s;
}

}  // namespace

void fp8_round(const Fp8RoundArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
