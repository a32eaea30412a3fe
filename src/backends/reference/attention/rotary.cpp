// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/rotary.h"

#include <cmath>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

// Turns one head at position t. Products and sums in the storage type, as the contract says.
template <class T>
void turn(T* head, std::int64_t D, std::int64_t t, const RotaryArgs& args) {
  for (std::int64_t i = 0; i < D / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(D);
    const double angle = static_cast<double>(t) * std::pow(args.theta, exponent);
    const T cosine = static_cast<T>(std::cos(angle));
    const T sine = static_cast<T>(std::sin(args.inverse ? -angle : angle));
    const T u = head[i], v = head[i + D / 2];
    head[i] = u * cosine - v * sine;
    head[i + D / 2] = u * sine + v * cosine;
  }
}

template <class T>
void run(const RotaryArgs& args) {
  const Shape& shape = args.x.shape();
  const std::int64_t B = shape[0], L = shape[1], heads = shape[2], D = shape[3];
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < L; ++t)
      for (std::int64_t h = 0; h < args.num_rotated; ++h)
        turn(args.x.as<T>() + ((b * L + t) * heads + h) * D, D, args.first_position + t, args);
}

}  // namespace

void rotary(const RotaryArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
