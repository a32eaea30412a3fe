// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/topology.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/addition_order.h"
#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/selection/best_first.h"
#include "backends/reference/selection/magnitude.h"
#include "base/rng.h"

namespace twill::reference {
namespace {

using Indices = std::vector<std::int64_t>;

// In the storage type, because the order of the scores is part of the contract.
template <class T>
T drop_score(const TopologyUpdateArgs& args, std::int64_t i) {
  const T w = args.weight.as<T>()[i];
  if (args.score == DropScore::kMagnitude) return magnitude(w);
  const T g = args.grad.as<T>()[i];
  if (args.score == DropScore::kSensitivity) return magnitude(w / (g + static_cast<T>(1e-9)));
  const T pull = static_cast<T>(args.mest_lambda) * std::abs(g);
  return magnitude(std::abs(w) + pull);
}

std::uint32_t random_word(const TopologyUpdateArgs& args, std::int64_t i) {
  const auto e = static_cast<std::uint64_t>(i);
  const Philox4 counter{static_cast<std::uint32_t>(e / 4), static_cast<std::uint32_t>(e / 4 >> 32),
                        args.update, static_cast<std::uint32_t>(Purpose::kGrow) | args.stream << 8};
  return philox4x32(counter, static_cast<std::uint32_t>(args.seed),
                    static_cast<std::uint32_t>(args.seed >> 32))[e % 4];
}

void mark_first(const Indices& indices, std::int64_t count, std::vector<bool>& marks) {
  for (std::int64_t k = 0; k < count; ++k)
    marks[static_cast<std::size_t>(indices[static_cast<std::size_t>(k)])] = true;
}

Indices unmarked(const std::vector<bool>& marks) {
  Indices indices;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (!marks[i]) indices.push_back(static_cast<std::int64_t>(i));
  return indices;
}

template <class T>
std::vector<bool> new_topology(const TopologyUpdateArgs& args, Indices active) {
  std::vector<bool> marks(static_cast<std::size_t>(args.mask.num_elements()));
  if (args.num_prune > 0)
    sort_best_first(active, [&](std::int64_t i) { return drop_score<T>(args, i); });
  mark_first(active, static_cast<std::int64_t>(active.size()) - args.num_prune, marks);

  Indices rest = unmarked(marks);
  if (args.num_grad > 0)
    sort_best_first(rest, [&](std::int64_t i) { return magnitude(args.grad.as<T>()[i]); });
  mark_first(rest, args.num_grad, marks);

  rest = unmarked(marks);
  sort_best_first(rest, [&](std::int64_t i) { return ~random_word(args, i); });
  mark_first(rest, args.num_random, marks);
  return marks;
}

template <class T>
void run(const TopologyUpdateArgs& args) {
  std::uint8_t* mask = args.mask.as<std::uint8_t>();
  std::uint8_t* grown = args.grown.as<std::uint8_t>();
  T* weight = data_or_null<T>(args.weight);
  Indices active;
  for (std::int64_t i = 0; i < args.mask.num_elements(); ++i)
    if (mask[i] != 0) active.push_back(i);
  require_topology_counts(args, static_cast<std::int64_t>(active.size()));
  const std::vector<bool> now = new_topology<T>(args, active);
  for (std::int64_t i = 0; i < args.mask.num_elements(); ++i) {
    const bool was_active = mask[i] != 0, is_active = now[static_cast<std::size_t>(i)];
    if (weight != nullptr && was_active != is_active) weight[i] = T{0};
    mask[i] = is_active ? 1 : 0;
    grown[i] = is_active && !was_active ? 1 : 0;
  }
}

template <class T>
T mean_of_old(const RegrowMomentsArgs& args) {
  const std::int64_t n = args.v.num_elements();
  double sum = 0.0, count = 0.0;
  for (std::int64_t begin = 0; begin < n; begin += kRun) {
    double run_sum = 0.0;
    for (std::int64_t i = begin; i < std::min(n, begin + kRun); ++i) {
      if (args.mask.as<std::uint8_t>()[i] == 0 || args.grown.as<std::uint8_t>()[i] != 0) continue;
      run_sum += static_cast<double>(args.v.as<T>()[i]);
      count += 1.0;
    }
    sum += run_sum;
  }
  return count > 0.0 ? static_cast<T>(sum / count) : T{0};
}

template <class T>
void set_moments(const RegrowMomentsArgs& args) {
  const T v = args.policy == RegrownMoments::kZero ? T{0} : mean_of_old<T>(args);
  for (std::int64_t i = 0; i < args.v.num_elements(); ++i) {
    if (args.grown.as<std::uint8_t>()[i] == 0) continue;
    args.m.as<T>()[i] = T{0};
    args.v.as<T>()[i] = v;
  }
}

}  // namespace

void topology_update(const TopologyUpdateArgs& args, const Device&, Queue&) {
  with_element_type(args.weight.dtype(), [&]<class T>(T) { run<T>(args); });
}

void regrow_moments(const RegrowMomentsArgs& args, const Device&, Queue&) {
  with_element_type(args.v.dtype(), [&]<class T>(T) { set_moments<T>(args); });
}

}  // namespace twill::reference
