// SPDX-License-Identifier: Apache-2.0
// Routing of tokens on CUDA.
//
// cluster_energy: the sums of a token and a cluster are chains in the order of neurons, those of
// different clusters are independent. A block takes 32 tokens, a lane each, and brings 128 neurons
// at a time into shared memory; warp w adds those whose cluster is w modulo 8, which it first
// gathers in order. Reads a once: 210 MB at 16384 x 6400 bf16; a chain's addition through shared
// memory takes some 40 cycles, hidden by 24 warps on an SM: about half of a copy.
//
// route_tokens: a warp finds a token's best column; a stable sort by it (device/stable_sort.cuh);
// the dealing is arithmetic on places. All small (1 MB of scores): five launches, some 15 us.
#include "ops/selection/route_tokens.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "backends/cuda/device/pieces.cuh"
#include "backends/cuda/device/selection/scan.cuh"
#include "backends/cuda/device/selection/stable_sort.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kTileNeurons = 128;
constexpr int kTileClusters = 128;  // whose sums are held at once; more of them read a again

template <class T>
__global__ __launch_bounds__(kThreads) void cluster_energy_kernel(
    const T* __restrict__ a, const std::int32_t* __restrict__ cluster, T* __restrict__ score,
    std::int64_t tokens, std::int64_t neurons, std::int64_t clusters) {
  __shared__ float tile[kWarp][kTileNeurons + 1];
  __shared__ float sums[kTileClusters][kWarp + 1];
  __shared__ unsigned gathered[kWarps][kTileNeurons];  // neuron of the tile | cluster << 16
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const std::int64_t first_token = std::int64_t{blockIdx.x} * kWarp;

  for (std::int64_t e0 = 0; e0 < clusters; e0 += kTileClusters) {
    const int num_clusters = static_cast<int>(min(clusters - e0, std::int64_t{kTileClusters}));
    for (int e = warp; e < num_clusters; e += kWarps) sums[e][lane] = 0.0f;
    for (std::int64_t f0 = 0; f0 < neurons; f0 += kTileNeurons) {
      __syncthreads();  // the tile is free, and so are the lists
#pragma unroll
      for (int i = 0; i < kWarp * kTileNeurons / kThreads; ++i) {
        const int t = (i * kThreads + thread) / kTileNeurons, f = thread % kTileNeurons;
        const bool inside = first_token + t < tokens && f0 + f < neurons;
        tile[t][f] = inside ? to_f32(a[(first_token + t) * neurons + f0 + f]) : 0.0f;
      }
      int count = 0;
#pragma unroll
      for (int begin = 0; begin < kTileNeurons; begin += kWarp) {
        const std::int64_t f = f0 + begin + lane;
        const int e = f < neurons ? static_cast<int>(cluster[f] - e0) : -1;
        const bool is_mine = e >= 0 && e < num_clusters && e % kWarps == warp;
        const unsigned mine = __ballot_sync(0xffff'ffffu, is_mine);
        if (is_mine)
          gathered[warp][count + __popc(mine & ((1u << lane) - 1))] =
              static_cast<unsigned>(begin + lane) | static_cast<unsigned>(e) << 16;
        count += __popc(mine);
      }
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < count; ++k) {
        const unsigned entry = gathered[warp][k];
        float& sum = sums[entry >> 16][lane];
        sum = __fadd_rn(sum, tile[lane][entry & 0xffffu]);
      }
    }
    __syncthreads();
    for (int i = thread; i < kWarp * num_clusters; i += kThreads) {
      const int t = i / num_clusters, e = i - t * num_clusters;
      if (first_token + t < tokens)
        score[(first_token + t) * clusters + e0 + e] = from_f32<T>(sums[e][t]);
    }
    __syncthreads();
  }
}

// routes[t], a warp per token: the best column, of equal ones the lowest; NaN as +Inf.
template <class T>
__global__ __launch_bounds__(kThreads) void best_column_kernel(const T* __restrict__ score,
                                                               std::int64_t tokens,
                                                               std::int64_t columns,
                                                               std::int32_t* __restrict__ routes) {
  const std::int64_t token = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (token >= tokens) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float best = -INFINITY;
  std::int64_t at = columns;  // none
  for (std::int64_t e = lane; e < columns; e += kWarp) {
    float value = to_f32(score[token * columns + e]);
    if (isnan(value)) value = INFINITY;
    if (value > best || at == columns) best = value, at = e;
  }
#pragma unroll
  for (int apart = kWarp / 2; apart > 0; apart /= 2) {
    const float value = __shfl_xor_sync(0xffff'ffffu, best, apart);
    const auto e =
        static_cast<std::int64_t>(__shfl_xor_sync(0xffff'ffffu, static_cast<long long>(at), apart));
    if (value > best || (value == best && e < at)) best = value, at = e;
  }
  if (lane == 0) routes[token] = static_cast<std::int32_t>(at);
}

// `dealt` of ops/selection/route_tokens.h: S strata of T tokens, windows of m with c of each; every stratum
// deals `num_dealt` tokens.
struct Deal {
  std::int64_t T, S, m, c, num_dealt;
};

__global__ __launch_bounds__(kThreads) void deal_kernel(const std::int32_t* __restrict__ order,
                                                        Deal deal,
                                                        std::int32_t* __restrict__ dealt) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= deal.T) return;
  // The last stratum that begins at or before the place: s T / S < at + 1.
  const std::int64_t s = ((at + 1) * deal.S - 1) / deal.T;
  const std::int64_t begin = s * deal.T / deal.S, k = at - begin;
  // What earlier strata have left over lies before this one's.
  const std::int64_t place =
      k < deal.num_dealt
          ? k / deal.c * deal.m + s * deal.c + k % deal.c
          : deal.num_dealt * deal.S + (begin - s * deal.num_dealt) + (k - deal.num_dealt);
  dealt[place] = order[at];
}

// Memory of one call, in the queue's scratch.
struct RouteScratch {
  RouteScratch(std::int64_t tokens, std::int64_t chunks, Queue& queue) {
    const std::int64_t list = ceil_div(tokens, 64) * 64;  // keeps 256-byte boundaries
    const std::int64_t counters = kSortDigits * chunks + 1;
    routes = reinterpret_cast<std::int32_t*>(
        reduction_scratch(queue, (2 * list + counters) * std::int64_t{sizeof(std::int32_t)}));
    order = routes + list;
    counts = order + list;
  }
  std::int32_t *routes, *order, *counts;
};

void sort_by_route(const std::int32_t* routes, std::int64_t tokens, std::int64_t num_routes,
                   const RouteScratch& scratch, std::int32_t* order, cudaStream_t stream) {
  const std::int64_t chunks = ceil_div(tokens, kSortChunk);
  const auto blocks = static_cast<unsigned>(chunks);
  const int bits = std::bit_width(static_cast<std::uint64_t>(num_routes - 1));
  const int passes = std::clamp((bits + 7) / 8, 1, 4);  // routes are i32
  for (int pass = 0; pass < passes; ++pass) {
    // Passes alternate between the two lists, and the last one writes `order`.
    const bool to_order = (passes - 1 - pass) % 2 == 0;
    const SortPass sort{.routes = routes,
                        .tokens = pass == 0  ? nullptr
                                  : to_order ? scratch.order
                                             : order,
                        .count = tokens,
                        .shift = 8 * pass};
    count_routes_kernel<<<blocks, kSortThreads, 0, stream>>>(sort, scratch.counts);
    TWILL_CUDA_CHECK_LAUNCH();
    exclusive_scan_kernel<<<1, kScanThreads, 0, stream>>>(scratch.counts, kSortDigits * chunks);
    TWILL_CUDA_CHECK_LAUNCH();
    place_tokens_kernel<<<blocks, kSortThreads, 0, stream>>>(sort, scratch.counts,
                                                             to_order ? order : scratch.order);
    TWILL_CUDA_CHECK_LAUNCH();
  }
}

void deal_tokens(const RouteTokensArgs& args, cudaStream_t stream) {
  const std::int64_t T = args.score.rows(), m = args.deal_window;
  const std::int64_t S = m == 4 ? 4 : m / 4, c = m / S;
  const Deal deal{.T = T, .S = S, .m = m, .c = c, .num_dealt = T / S / c * c};
  const auto* const order = pointer<std::int32_t>(ConstView(args.order));
  auto* const dealt = pointer<std::int32_t>(args.dealt);
  if (deal.num_dealt == 0) {  // no whole window; and S may be too large to multiply with
    TWILL_CUDA_CHECK(cudaMemcpyAsync(dealt, order, static_cast<std::size_t>(args.order.num_bytes()),
                                     cudaMemcpyDeviceToDevice, stream));
    return;
  }
  deal_kernel<<<static_cast<unsigned>(ceil_div(T, kThreads)), kThreads, 0, stream>>>(order, deal,
                                                                                     dealt);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void cluster_energy(const ClusterEnergyArgs& args, const Device&, Queue& queue) {
  const std::int64_t tokens = args.a.rows();
  if (tokens == 0) return;  // no neurons still give zeros
  by_type(args.a.dtype(), [&]<class T>(TypeOf<T>) {
    cluster_energy_kernel<T>
        <<<static_cast<unsigned>(ceil_div(tokens, kWarp)), kThreads, 0, stream_of(queue)>>>(
            pointer<T>(args.a), pointer<std::int32_t>(args.cluster), pointer<T>(args.score), tokens,
            args.a.cols(), args.score.cols());
    TWILL_CUDA_CHECK_LAUNCH();
  });
}

void route_tokens(const RouteTokensArgs& args, const Device&, Queue& queue) {
  const std::int64_t tokens = args.score.rows(), columns = args.score.cols();
  if (tokens == 0) return;
  const cudaStream_t stream = stream_of(queue);
  const RouteScratch scratch(tokens, ceil_div(tokens, kSortChunk), queue);
  std::int32_t* const routes = args.route ? pointer<std::int32_t>(args.route) : scratch.routes;
  by_type(args.score.dtype(), [&]<class T>(TypeOf<T>) {
    best_column_kernel<T><<<static_cast<unsigned>(ceil_div(tokens, kWarps)), kThreads, 0, stream>>>(
        pointer<T>(args.score), tokens, columns, routes);
    TWILL_CUDA_CHECK_LAUNCH();
  });
  sort_by_route(routes, tokens, columns, scratch, pointer<std::int32_t>(args.order), stream);
  if (args.dealt) deal_tokens(args, stream);
}

}  // namespace twill::cuda
