// SPDX-License-Identifier: Apache-2.0
// Routing of tokens on the cpu.
//
// cluster_energy: a token is one task's work from its first neuron to its last, so the order of the
// additions is the contract's. An addition into memory waits for the one before it when neighbours
// share a cluster: tokens are taken four at a time, to have four such chains. Not measured.
// route_tokens: a counting sort, stable by construction; each stratum then puts its tokens where the
// windows want them.
#include "ops/selection/route_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kElementsPerTask = 65536;

struct Energy {
  std::int64_t F, E;
  const float* a;
  const std::int32_t* cluster;
  float* score;
};

template <int kTokens>
void sum_tokens(const Energy& energy, std::int64_t t) {
  const std::int64_t F = energy.F, E = energy.E;
  const float* a = energy.a + t * F;
  float* score = energy.score + t * E;
  std::fill_n(score, kTokens * E, 0.0f);
  for (std::int64_t i = 0; i < F; ++i)
    for (int k = 0; k < kTokens; ++k) score[k * E + energy.cluster[i]] += a[k * F + i];
}

float size_of_score(float x) { return std::isnan(x) ? std::numeric_limits<float>::infinity() : x; }

std::int32_t best_column(const float* score, std::int64_t E) {
  std::int64_t best = 0;
  for (std::int64_t e = 1; e < E; ++e)
    if (size_of_score(score[e]) > size_of_score(score[best])) best = e;
  return static_cast<std::int32_t>(best);
}

void deal(const std::int32_t* order, std::int64_t T, std::int64_t m, std::int32_t* dealt) {
  const std::int64_t S = m == 4 ? 4 : m / 4, c = m / S;
  const std::int64_t num_dealt = T / S / c * c;  // of each stratum
  std::int32_t* rest = dealt + num_dealt * S;
  for (std::int64_t s = 0; s < S; ++s) {
    const std::int64_t begin = s * T / S, end = (s + 1) * T / S;
    for (std::int64_t k = 0; k < num_dealt; ++k)
      dealt[k / c * m + s * c + k % c] = order[begin + k];
    rest = std::copy(order + begin + num_dealt, order + end, rest);
  }
}

}  // namespace

void cluster_energy(const ClusterEnergyArgs& args, const Device&, Queue& queue) {
  const Energy energy{.F = args.a.shape()[1],
                      .E = args.score.shape()[1],
                      .a = args.a.as<float>(),
                      .cluster = args.cluster.as<std::int32_t>(),
                      .score = args.score.as<float>()};
  run_pieces(queue, args.a.shape()[0], rows_per_task(kElementsPerTask, energy.F),
             [&](std::int64_t begin, std::int64_t end) {
               std::int64_t t = begin;
               for (; t + 4 <= end; t += 4) sum_tokens<4>(energy, t);
               for (; t < end; ++t) sum_tokens<1>(energy, t);
             });
}

void route_tokens(const RouteTokensArgs& args, const Device&, Queue&) {
  const std::int64_t T = args.score.shape()[0], E = args.score.shape()[1];
  std::vector<std::int32_t> routes(static_cast<std::size_t>(T));
  std::vector<std::int32_t> next(static_cast<std::size_t>(E) +
                                 1);  // place of a cluster's next token
  for (std::int64_t t = 0; t < T; ++t) {
    const std::int32_t best = best_column(args.score.as<float>() + t * E, E);
    routes[static_cast<std::size_t>(t)] = best;
    ++next[static_cast<std::size_t>(best) + 1];
  }
  for (std::size_t e = 1; e < next.size(); ++e) next[e] += next[e - 1];
  std::int32_t* order = args.order.as<std::int32_t>();
  for (std::int64_t t = 0; t < T; ++t) {
    const auto route = static_cast<std::size_t>(routes[static_cast<std::size_t>(t)]);
    order[next[route]++] = static_cast<std::int32_t>(t);
  }
  if (args.route) std::copy(routes.begin(), routes.end(), args.route.as<std::int32_t>());
  if (args.dealt) deal(order, T, args.deal_window, args.dealt.as<std::int32_t>());
}

}  // namespace twill::cpu
