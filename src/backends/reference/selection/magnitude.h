// SPDX-License-Identifier: Apache-2.0
// |x|, with NaN counted as +Inf: what every selection compares.
#pragma once

#include <cmath>
#include <limits>

namespace twill::reference {

template <class T>
T magnitude(T x) {
  return std::isnan(x) ? std::numeric_limits<T>::infinity() : std::abs(x);
}

}  // namespace twill::reference
