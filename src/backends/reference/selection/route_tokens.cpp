// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/route_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class T>
void sum_energy(const ClusterEnergyArgs& args) {
  const std::int64_t num_tokens = args.a.shape()[0], F = args.a.shape()[1];
  const std::int64_t E = args.score.shape()[1];
  const std::int32_t* cluster = args.cluster.as<std::int32_t>();
  for (std::int64_t t = 0; t < num_tokens; ++t) {
    T* score = args.score.as<T>() + t * E;
    std::fill_n(score, E, T{0});
    // In the type of a, because the bits are part of the contract.
    for (std::int64_t i = 0; i < F; ++i) score[cluster[i]] += args.a.as<T>()[t * F + i];
  }
}

template <class T>
std::int32_t best_column(const T* score, std::int64_t E) {
  const auto size = [](T x) { return std::isnan(x) ? std::numeric_limits<T>::infinity() : x; };
  std::int64_t best = 0;
  for (std::int64_t e = 1; e < E; ++e)
    if (size(score[e]) > size(score[best])) best = e;
  return static_cast<std::int32_t>(best);
}

// Window by window as the contract says it, then what nobody took.
std::vector<std::int32_t> deal(const std::vector<std::int32_t>& order, std::int64_t m) {
  const auto T = static_cast<std::int64_t>(order.size());
  const std::int64_t S = m == 4 ? 4 : m / 4, c = m / S;
  std::vector<std::int32_t> dealt;
  std::vector<bool> taken(order.size());
  for (std::int64_t w = 0; w < T / S / c; ++w)
    for (std::int64_t s = 0; s < S; ++s)
      for (std::int64_t k = w * c; k < w * c + c; ++k) {
        const auto at = static_cast<std::size_t>(s * T / S + k);
        dealt.push_back(order[at]);
        taken[at] = true;
      }
  for (std::size_t at = 0; at < order.size(); ++at)
    if (!taken[at]) dealt.push_back(order[at]);
  return dealt;
}

template <class T>
void route(const RouteTokensArgs& args) {
  const std::int64_t num_tokens = args.score.shape()[0], E = args.score.shape()[1];
  std::vector<std::int32_t> routes, order(static_cast<std::size_t>(num_tokens));
  for (std::int64_t t = 0; t < num_tokens; ++t)
    routes.push_back(best_column(args.score.as<T>() + t * E, E));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return routes[static_cast<std::size_t>(a)] < routes[static_cast<std::size_t>(b)];
  });
  std::copy(order.begin(), order.end(), args.order.as<std::int32_t>());
  if (args.route) std::copy(routes.begin(), routes.end(), args.route.as<std::int32_t>());
  if (!args.dealt) return;
  const std::vector<std::int32_t> dealt = deal(order, args.deal_window);
  std::copy(dealt.begin(), dealt.end(), args.dealt.as<std::int32_t>());
}

}  // namespace

void cluster_energy(const ClusterEnergyArgs& args, const Device&, Queue&) {
  with_element_type(args.a.dtype(), [&]<class T>(T) { sum_energy<T>(args); });
}

void route_tokens(const RouteTokensArgs& args, const Device&, Queue&) {
  with_element_type(args.score.dtype(), [&]<class T>(T) { route<T>(args); });
}

}  // namespace twill::reference
