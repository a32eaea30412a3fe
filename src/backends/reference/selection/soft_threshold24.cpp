// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/soft_threshold24.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backends/reference/addition_order.h"
#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/selection/magnitude.h"

namespace twill::reference {
namespace {

// The second smallest magnitude.
template <class T>
T threshold(const std::array<T, 4>& group) {
  std::array<T, 4> b;
  for (std::size_t k = 0; k < 4; ++k) b[k] = magnitude(group[k]);
  std::sort(b.begin(), b.end());
  return b[1];
}

template <class T>
T soft(T x, T t) {
  const T rest = std::abs(x) - t;
  if (std::isnan(rest)) return rest;
  return rest > T{0} ? std::copysign(rest, x) : T{0};
}

// Where the members of group `g` lie: the first one, and the way from each to the next.
struct GroupPlace {
  std::int64_t first, stride;
};
GroupPlace place_of(const Shape& shape, GroupAxis axis, std::int64_t g) {
  const std::int64_t C = shape[1];
  if (axis == GroupAxis::kWithinRow) return {4 * g, 1};
  return {4 * (g / C) * C + g % C, C};
}

// S(x), unscaled.
template <class T>
std::vector<T> softened(const ConstView& x, GroupAxis axis) {
  std::vector<T> out(static_cast<std::size_t>(x.num_elements()));
  for (std::int64_t g = 0; g < x.num_elements() / 4; ++g) {
    const GroupPlace place = place_of(x.shape(), axis, g);
    std::array<T, 4> group;
    for (std::int64_t k = 0; k < 4; ++k)
      group[static_cast<std::size_t>(k)] = x.as<T>()[place.first + k * place.stride];
    const T t = threshold(group);
    for (std::int64_t k = 0; k < 4; ++k)
      out[static_cast<std::size_t>(place.first + k * place.stride)] =
          soft(group[static_cast<std::size_t>(k)], t);
  }
  return out;
}

template <class T>
void run(const SoftThreshold24Args& args) {
  const std::vector<T> s = softened<T>(args.x, args.axis);
  const T scale = static_cast<T>(args.scale);
  for (std::size_t i = 0; i < s.size(); ++i) args.y.as<T>()[i] = s[i] == T{0} ? T{0} : scale * s[i];
}

template <class T>
void run(const SoftThreshold24SumsArgs& args) {
  const std::vector<T> softs = softened<T>(args.x, args.axis);
  std::array<double, 4> total{};
  for (std::int64_t begin = 0; begin < args.x.num_elements(); begin += kRun) {
    std::array<double, 4> sums{};
    for (std::int64_t i = begin; i < std::min(begin + kRun, args.x.num_elements()); ++i) {
      const double x = args.x.as<T>()[i], s = softs[static_cast<std::size_t>(i)];
      sums[0] += x * s;
      sums[1] += s * s;
      sums[2] += std::abs(x);
      sums[3] += std::abs(s);
    }
    for (std::size_t k = 0; k < 4; ++k) total[k] += sums[k];
  }
  std::copy(total.begin(), total.end(), args.sums.as<double>());
}

}  // namespace

void soft_threshold24(const SoftThreshold24Args& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}
void soft_threshold24_sums(const SoftThreshold24SumsArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
