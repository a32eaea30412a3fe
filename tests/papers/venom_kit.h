// SPDX-License-Identifier: Apache-2.0
// What the tests of V:2:M share: a run of the op on plain vectors, and activations as the paper's
// note draws them.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "ops/selection/venom.h"

namespace twill {

struct VenomRun {
  std::int64_t rows, columns;
  std::int64_t v, m;
  GroupAxis along = GroupAxis::kWithinRow;
  std::vector<std::int32_t> row_order = {};

  // `mass` gets three sums when it is not empty.
  std::vector<std::uint8_t> mask(const Context& context, const std::vector<float>& x,
                                 std::vector<double>* mass = nullptr) const {
    std::vector<std::uint8_t> mask(x.size());
    const Shape shape{rows, columns};
    VenomSelectArgs args{.x = view_of(x.data(), shape),
                         .mask = view_of(mask.data(), shape),
                         .along = along,
                         .v = v,
                         .m = m};
    if (!row_order.empty()) args.row_order = view_of(row_order.data(), {rows});
    if (mass != nullptr) args.mass = view_of(mass->data(), {3});
    venom_select(context, args);
    return mask;
  }
};

// Gaussian² with probability `density`, else 0. The same element has the same value at every
// density that shows it.
inline float sparse_square(std::uint64_t seed, std::uint64_t i, double density) {
  const Philox4 bits = random_bits(seed, Purpose::kTest, 0, i);
  if (unit_float(bits[0]) >= density) return 0.0f;
  const float z = normal_float(bits[1], bits[2]);
  return z * z;
}

inline std::vector<float> sparse_squares(std::uint64_t seed, std::int64_t count, double density) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = sparse_square(seed, i, density);
  return x;
}

}  // namespace twill
