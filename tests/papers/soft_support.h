// SPDX-License-Identifier: Apache-2.0
// Data and runs that the checks of soft thresholds and of MVUE share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/soft_threshold24.h"

namespace twill {

using Floats = std::vector<float>;
using Group = std::array<float, 4>;

enum class Law { kUniform, kGaussian, kLaplace };

// Independent numbers of a law, always the same ones.
inline Floats numbers_of(Law law, std::int64_t count) {
  Floats numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto kind = static_cast<std::uint32_t>(law);
    const Philox4 bits = random_bits(2024, Purpose::kTest, kind, i);
    const float centred = 2.0f * unit_float(bits[0]) - 1.0f;
    if (law == Law::kUniform) numbers[i] = centred;
    if (law == Law::kGaussian) numbers[i] = normal_float(bits[0], bits[1]);
    if (law == Law::kLaplace)
      numbers[i] = std::copysign(std::log(unit_float(bits[1]) + 0x1p-25f), centred);
  }
  return numbers;
}

inline Floats soft_of(const KernelTable& table, const Floats& x, Shape shape, double scale = 1.0,
                      GroupAxis axis = GroupAxis::kWithinRow) {
  Floats y(x.size());
  soft_threshold24(
      Context(table, 1),
      {.x = view_of(x.data(), shape), .y = view_of(y.data(), shape), .axis = axis, .scale = scale});
  return y;
}
// One group or several, in one row.
inline Floats soft_of(const KernelTable& table, const Floats& x) {
  return soft_of(table, x, {1, static_cast<std::int64_t>(x.size())});
}

inline std::array<double, 4> sums_of(const KernelTable& table, const Floats& x, Shape shape,
                                     GroupAxis axis = GroupAxis::kWithinRow) {
  std::array<double, 4> sums{};
  soft_threshold24_sums(
      Context(table, 1),
      {.x = view_of(x.data(), shape), .sums = view_of(sums.data(), {4}), .axis = axis});
  return sums;
}

// ||w - beta S(w)||² / ||w||² with the beta that minimises it.
inline double residual_of(const KernelTable& table, const Floats& w, Shape shape) {
  const auto sums = sums_of(table, w, shape);
  const Floats ws = soft_of(table, w, shape, sums[0] / sums[1]);
  double error = 0.0, energy = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    error += (double{w[i]} - ws[i]) * (double{w[i]} - ws[i]);
    energy += double{w[i]} * w[i];
  }
  return error / energy;
}

struct Draw {
  MvueLaw law = MvueLaw::kExact;
  std::uint64_t seed = 11;
  std::uint32_t step = 0, stream = 0;
};
struct Sampled {
  Floats y;
  std::vector<std::uint8_t> mask;
};

inline Sampled mvue_of(const KernelTable& table, const Floats& x, Shape shape, Draw draw = {}) {
  Sampled out{Floats(x.size()), std::vector<std::uint8_t>(x.size())};
  mvue24(Context(table, 1), {.x = view_of(x.data(), shape),
                             .y = view_of(out.y.data(), shape),
                             .mask = view_of(out.mask.data(), shape),
                             .law = draw.law,
                             .seed = draw.seed,
                             .step = draw.step,
                             .stream = draw.stream});
  return out;
}

// `count` draws of one group: sixteen tokens hold it four times, in count / 4 channels.
struct Draws {
  std::int64_t count;
  Sampled sampled;

  float value(std::int64_t draw, std::int64_t k) const { return sampled.y[index(draw, k)]; }
  bool kept(std::int64_t draw, std::int64_t k) const { return sampled.mask[index(draw, k)] != 0; }
  std::size_t index(std::int64_t draw, std::int64_t k) const {
    return static_cast<std::size_t>((4 * (draw % 4) + k) * (count / 4) + draw / 4);
  }
};
inline Draws draws_of(const KernelTable& table, const Group& group, std::int64_t count,
                      Draw draw = {}) {
  const std::int64_t channels = count / 4;
  Floats x;
  for (std::size_t token = 0; token < 16; ++token)
    x.insert(x.end(), static_cast<std::size_t>(channels), group[token % 4]);
  return {count, mvue_of(table, x, {16, channels}, draw)};
}

// The sampled variance over the energy of many groups: Σ (y - x)² / Σ x².
inline double variance_over_energy(const KernelTable& table, const Floats& x, MvueLaw law) {
  const auto channels = static_cast<std::int64_t>(x.size()) / 400;
  const Sampled sampled = mvue_of(table, x, {400, channels}, {.law = law});
  double variance = 0.0, energy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    variance += (double{sampled.y[i]} - x[i]) * (double{sampled.y[i]} - x[i]);
    energy += double{x[i]} * x[i];
  }
  return variance / energy;
}

// The largest distance of a mean from its group, in standard errors. Every draw of a position is 0
// or one value v, so its variance is x (v - x): better known than from draws that hardly ever miss.
inline double worst_mean_error(const Draws& draws, const Group& group) {
  double worst = 0.0;
  for (std::int64_t k = 0; k < 4; ++k) {
    const double x = group[static_cast<std::size_t>(k)];
    double sum = 0.0, value = x;
    for (std::int64_t draw = 0; draw < draws.count; ++draw) {
      sum += draws.value(draw, k);
      if (draws.kept(draw, k)) value = draws.value(draw, k);
    }
    const auto n = static_cast<double>(draws.count);
    const double error = std::abs(sum / n - x), variance = std::max(0.0, x * (value - x));
    const double rounding = 1e-6 * std::abs(x);
    if (error > rounding) worst = std::max(worst, error / std::sqrt(variance / n + 1e-300));
  }
  return worst;
}

// The most positions of a token group that are not zero.
inline int most_nonzeros(const Draws& draws) {
  int most = 0;
  for (std::int64_t draw = 0; draw < draws.count; ++draw) {
    int nonzeros = 0;
    for (std::int64_t k = 0; k < 4; ++k) nonzeros += draws.value(draw, k) != 0.0f;
    most = std::max(most, nonzeros);
  }
  return most;
}

}  // namespace twill
