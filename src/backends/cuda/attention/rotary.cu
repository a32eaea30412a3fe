// SPDX-License-Identifier: Apache-2.0
// Rotary embedding on CUDA: a warp turns the heads of one token. A lane keeps the sines and cosines
// of its 16 bytes of a half head in registers and goes from head to head with 32 to 64 bytes in
// flight (32 to 64 KB per multiprocessor). Few tokens share their heads among several warps.
//
// Bound by memory: bf16 moves 4 B per turned element; tables come from L2 (at D = 64, 256 B per
// token beside 12.8 KB of 50 heads). Elements are independent: any grid gives the same bits. Where
// half a head is no whole number of packs, or x is not aligned to 16 bytes, a pack is one element.
#include "ops/attention/rotary.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBlocksPerSm = 4;  // 64 registers a thread; all blocks of the grid are resident

// cos and sin of t theta^(-2i/D), computed in f64 and rounded once.
struct Table {
  std::int64_t head_dim = 0;
  double theta = 0.0;
  std::int64_t num_positions = 0;
  float* cosines = nullptr;  // (num_positions, head_dim / 2)
  float* sines = nullptr;    // (num_positions, head_dim / 2)
  Scratch memory = {};
};

__global__ __launch_bounds__(kThreads) void table_kernel(float* cosines, float* sines,
                                                         std::int64_t count, std::int64_t head_dim,
                                                         double theta) {
  const std::int64_t half = head_dim / 2, stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; at < count; at += stride) {
    const std::int64_t t = at / half, i = at % half;
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double angle = static_cast<double>(t) * pow(theta, exponent);
    cosines[at] = static_cast<float>(cos(angle));
    sines[at] = static_cast<float>(sin(angle));
  }
}

// Recorded work holds the address of its table. So none is ever freed or moved: one that has too
// few positions stays beside a larger one. Sizes are powers of two, so that all together take at
// most twice the largest.
class RotaryTables final : public QueueState {
 public:
  // A table with at least `num_positions` positions.
  const Table& get(std::int64_t num_positions, const RotaryArgs& args, const Device& device,
                   CudaQueue& queue) {
    for (const Table& table : tables_)
      if (table.head_dim == args.x.cols() && table.theta == args.theta &&
          table.num_positions >= num_positions)
        return table;
    return add(num_positions, args, device, queue);
  }

 private:
  static constexpr std::uint64_t kFewest = 1024;

  const Table& add(std::int64_t num_positions, const RotaryArgs& args, const Device& device,
                   CudaQueue& queue) {
    TWILL_CHECK(!queue.is_recording(), "rotary tables grow before work is recorded");
    const auto positions = static_cast<std::int64_t>(
        std::bit_ceil(std::max(static_cast<std::uint64_t>(num_positions), kFewest)));
    const std::int64_t head_dim = args.x.cols(), count = positions * (head_dim / 2);
    Table& table = tables_.emplace_back();
    table.cosines = reinterpret_cast<float*>(
        table.memory.at_least(2 * count * static_cast<std::int64_t>(sizeof(float)), queue));
    table.sines = table.cosines + count;
    const unsigned blocks = grid_for(ceil_div(count, kThreads), kBlocksPerSm, device);
    table_kernel<<<blocks, kThreads, 0, queue.stream()>>>(table.cosines, table.sines, count,
                                                          head_dim, args.theta);
    TWILL_CUDA_CHECK_LAUNCH();
    // Last, so that a table is found only when it is whole.
    table.head_dim = head_dim;
    table.theta = args.theta;
    table.num_positions = positions;
    return table;
  }

  std::deque<Table> tables_;  // one per (head_dim, theta), or a few: elements never move
};

// How warps and lanes share the work. Warps go from token to token; of `splits` warps with the same
// tokens (the grid's second axis) each takes every splits-th pass over the heads.
struct Cut {
  std::int64_t num_tokens, T;
  std::int64_t first_position;
  std::int64_t stride, stride_in_T;  // warps of one split, and that modulo T
  std::int64_t token_size;           // elements
  int rotated_size;                  // elements: those of the heads that turn
  int half;                          // elements: D / 2
  int lanes;                         // that share a head
  int heads;                         // in a pass of the warp: lanes * heads <= 32
};

// (u, v) -> (u cos - v sin, u sin + v cos) for kHeads heads that are `step` elements apart; all
// loads stand before the first store.
template <int kHeads, bool kInverse, class T, int V>
__device__ __forceinline__ void turn(T* head, int step, int half, const float (&cosine)[V],
                                     const float (&sine)[V]) {
  float u[kHeads][V], v[kHeads][V];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    load<V>(head + h * step, u[h]);
    load<V>(head + h * step + half, v[h]);
  }
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const float s = kInverse ? -sine[i] : sine[i], c = cosine[i];
      const float turned_u = fmaf(u[h][i], c, -(v[h][i] * s));
      v[h][i] = fmaf(u[h][i], s, v[h][i] * c);
      u[h][i] = turned_u;
    }
    store<V>(head + h * step, u[h]);
    store<V>(head + h * step + half, v[h]);
  }
}

template <class T, bool kInverse, int V>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void rotary_kernel(
    T* x, const float* __restrict__ cosines, const float* __restrict__ sines, Cut cut) {
  const int lane = threadIdx.x % kWarp;
  const int lane_head = lane / cut.lanes, lane_pack = lane % cut.lanes;
  if (lane_head >= cut.heads) return;  // lanes do not talk to each other
  const int first = (static_cast<int>(blockIdx.y) * cut.heads + lane_head) * 2 * cut.half;
  const int step = static_cast<int>(gridDim.y) * cut.heads * 2 * cut.half;
  std::int64_t token = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  std::int64_t t = token % cut.T;
  for (; token < cut.num_tokens; token += cut.stride) {
    const std::int64_t angles = (cut.first_position + t) * cut.half;
    T* heads = x + token * cut.token_size;
    for (int i = lane_pack * V; i < cut.half; i += cut.lanes * V) {
      float cosine[V], sine[V];
      load<V>(cosines + angles + i, cosine);
      load<V>(sines + angles + i, sine);
      int at = first + i;
      for (; at + step < cut.rotated_size; at += 2 * step)
        turn<2, kInverse>(heads + at, step, cut.half, cosine, sine);
      if (at < cut.rotated_size) turn<1, kInverse>(heads + at, 0, cut.half, cosine, sine);
    }
    t += cut.stride_in_T;
    if (t >= cut.T) t -= cut.T;
  }
}

template <class T, bool kInverse, int V>
void launch_turn(const RotaryArgs& args, const Table& table, const Device& device,
                 cudaStream_t stream) {
  const Shape& shape = args.x.shape();  // (B, T, heads, D)
  const std::int64_t num_tokens = shape[0] * shape[1], half = shape[3] / 2;
  const std::int64_t lanes = std::min<std::int64_t>(half / V, kWarp), heads = kWarp / lanes;
  TWILL_CHECK(shape[2] * shape[3] <= 1 << 29, "rotary counts inside a token in 32 bits");
  const unsigned blocks = grid_for(ceil_div(num_tokens, kWarps), kBlocksPerSm, device);
  // Blocks that the device has room for beside those, in so far as there are heads for them.
  const std::int64_t room = std::int64_t{std::max(device.num_sms, 1)} * kBlocksPerSm / blocks;
  const auto splits = std::clamp<std::int64_t>(room, 1, ceil_div(args.num_rotated, heads));
  const std::int64_t stride = std::int64_t{blocks} * kWarps;
  const Cut cut{.num_tokens = num_tokens,
                .T = shape[1],
                .first_position = args.first_position,
                .stride = stride,
                .stride_in_T = stride % shape[1],
                .token_size = shape[2] * shape[3],
                .rotated_size = static_cast<int>(args.num_rotated * shape[3]),
                .half = static_cast<int>(half),
                .lanes = static_cast<int>(lanes),
                .heads = static_cast<int>(heads)};
  rotary_kernel<T, kInverse, V>
      <<<dim3(blocks, static_cast<unsigned>(splits)), kThreads, 0, stream>>>(
          pointer<T>(args.x), table.cosines, table.sines, cut);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class T, int V>
void launch(const RotaryArgs& args, const Table& table, const Device& device, cudaStream_t stream) {
  if (args.inverse) return launch_turn<T, true, V>(args, table, device, stream);
  return launch_turn<T, false, V>(args, table, device, stream);
}

}  // namespace

void rotary(const RotaryArgs& args, const Device& device, Queue& queue) {
  const Shape& shape = args.x.shape();
  if (args.x.num_elements() == 0 || args.num_rotated == 0) return;
  CudaQueue& owner = cuda_queue(queue);
  const Table& table =
      state_of<RotaryTables>(owner.rotary).get(args.first_position + shape[1], args, device, owner);
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    const bool fits = is_aligned({args.x}) && shape[3] / 2 % kVec<T> == 0;
    if (fits) return launch<T, kVec<T>>(args, table, device, owner.stream());
    return launch<T, 1>(args, table, device, owner.stream());
  });
}

}  // namespace twill::cuda
