// SPDX-License-Identifier: Apache-2.0
// Topology updates on CUDA. While an update runs, `grown` holds the new topology and `mask` the old
// one; the last kernel turns them into what the contract says. Up to three selections by radix
// (device/radix_select.cuh): what stays by score, what grows by gradient, what grows by chance.
//
// Five passes each over at most 9 B per element: some 1.3 GB for 10 million weights, 0.4 ms, in 31
// launches once per update and layer. Nothing waits for the host; counts that do not fit the mask,
// which nobody can see from here, take all there are.
// regrow_moments: runs of 256 by one thread each, transposed through shared memory, then the runs
// in order: one chain of additions, 0.25 ms for 10 million weights, as the contract's bits ask.
#include "ops/selection/topology.h"

#include <cstdint>

#include "backends/cuda/device/ordered_sums.cuh"
#include "backends/cuda/device/philox.cuh"
#include "backends/cuda/device/selection/groups24.cuh"
#include "backends/cuda/device/selection/radix_select.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/sparsity_kernels.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 4;

// Elements 4 quad … 4 quad + 3 of n, zeros behind the end; in one access where `whole` says so.
struct Quads {
  std::int64_t n;
  bool whole;

  template <class T>
  __device__ __forceinline__ void load(const T* from, std::int64_t quad, T (&to)[4]) const {
    if (whole && 4 * quad + 4 <= n) {
      const Pack<T, 4> pack = *reinterpret_cast<const Pack<T, 4>*>(from + 4 * quad);
#pragma unroll
      for (int k = 0; k < 4; ++k) to[k] = pack.at[k];
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) to[k] = 4 * quad + k < n ? from[4 * quad + k] : T{0};
    }
  }

  // Bit k: byte k is there and is set, or is there and is not.
  __device__ __forceinline__ unsigned flags(const std::uint8_t* from, std::int64_t quad,
                                            bool set) const {
    std::uint8_t bytes[4];
    load(from, quad, bytes);
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) bits |= unsigned{4 * quad + k < n && (bytes[k] != 0) == set} << k;
    return bits;
  }
};

// What is active, by its score.
struct ScoreKeys {
  Quads quads;
  const float* weight;
  const float* grad;
  const std::uint8_t* mask;
  DropScore score;
  float lambda;

  __device__ __forceinline__ float score_of(float w, float g) const {
    if (score == DropScore::kMagnitude) return w;
    if (score == DropScore::kSensitivity) return __fdiv_rn(w, __fadd_rn(g, 1e-9f));
    return __fadd_rn(fabsf(w), __fmul_rn(lambda, fabsf(g)));
  }
  __device__ __forceinline__ unsigned read(std::int64_t quad, unsigned (&keys)[4]) const {
    float w[4], g[4] = {};
    quads.load(weight, quad, w);
    if (score != DropScore::kMagnitude) quads.load(grad, quad, g);
#pragma unroll
    for (int k = 0; k < 4; ++k) keys[k] = magnitude_bits(score_of(w[k], g[k]));
    return quads.flags(mask, quad, true);
  }
};

// What has no mark yet, by its gradient.
struct GradKeys {
  Quads quads;
  const float* grad;
  const std::uint8_t* marks;

  __device__ __forceinline__ unsigned read(std::int64_t quad, unsigned (&keys)[4]) const {
    float g[4];
    quads.load(grad, quad, g);
#pragma unroll
    for (int k = 0; k < 4; ++k) keys[k] = magnitude_bits(g[k]);
    return quads.flags(marks, quad, false);
  }
};

// What has no mark yet, the smallest random word first.
struct RandomKeys {
  Quads quads;
  const std::uint8_t* marks;
  std::uint64_t seed;
  std::uint32_t update, tag;

  __device__ __forceinline__ unsigned read(std::int64_t quad, unsigned (&keys)[4]) const {
    const uint4 words = random_bits(seed, tag, update, static_cast<std::uint64_t>(quad));
    keys[0] = ~words.x, keys[1] = ~words.y, keys[2] = ~words.z, keys[3] = ~words.w;
    return quads.flags(marks, quad, false);
  }
};

template <class Keys>
void mark_best(const Keys& keys, const SelectionSize& size, std::uint8_t* marks,
               const Device& device, Queue& queue) {
  const cudaStream_t stream = stream_of(queue);
  const std::int64_t quads = ceil_div(keys.quads.n, 4), chunks = ceil_div(quads, kChunkQuads);
  constexpr std::int64_t kHead = ceil_div(sizeof(Selection), 256) * 256;
  std::byte* const scratch =
      reduction_scratch(queue, kHead + (chunks + 1) * std::int64_t{sizeof(Count)});
  auto* const selection = reinterpret_cast<Selection*>(scratch);
  auto* const ties = reinterpret_cast<Count*>(scratch + kHead);

  TWILL_CUDA_CHECK(cudaMemsetAsync(selection, 0, sizeof(Selection), stream));
  // Eight quads a thread repay the clearing of a block's counters.
  const unsigned blocks = grid_for(ceil_div(quads, kSelectThreads * 8), kBlocksPerSm, device);
  constexpr struct { int shift, bits; } kDigits[] = {{21, 11}, {10, 11}, {0, 10}};
  for (const auto& [shift, bits] : kDigits) {
    count_digits_kernel<<<blocks, kSelectThreads, 0, stream>>>(keys, quads, shift, bits, selection);
    TWILL_CUDA_CHECK_LAUNCH();
    choose_digit_kernel<<<1, kScanThreads, 0, stream>>>(selection, shift, bits, shift == 21, size);
    TWILL_CUDA_CHECK_LAUNCH();
  }
  const auto chunk_blocks = static_cast<unsigned>(chunks);
  count_ties_kernel<<<chunk_blocks, kSelectThreads, 0, stream>>>(keys, quads, selection, ties);
  TWILL_CUDA_CHECK_LAUNCH();
  exclusive_scan_kernel<<<1, kScanThreads, 0, stream>>>(ties, chunks);
  TWILL_CUDA_CHECK_LAUNCH();
  mark_kernel<<<chunk_blocks, kSelectThreads, 0, stream>>>(keys, quads, selection, ties, marks);
  TWILL_CUDA_CHECK_LAUNCH();
}

__global__ __launch_bounds__(kThreads) void mark_active_kernel(
    const std::uint8_t* __restrict__ mask, std::uint8_t* __restrict__ marks, std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride)
    marks[i] = mask[i] != 0 ? 1 : 0;
}

// From the old topology in mask and the new one in grown to the results.
__global__ __launch_bounds__(kThreads) void finish_kernel(float* __restrict__ weight,
                                                          std::uint8_t* __restrict__ mask,
                                                          std::uint8_t* __restrict__ grown,
                                                          std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) {
    const bool was_active = mask[i] != 0, is_active = grown[i] != 0;
    if (weight != nullptr && was_active != is_active) weight[i] = 0.0f;
    mask[i] = is_active ? 1 : 0;
    grown[i] = is_active && !was_active ? 1 : 0;
  }
}

constexpr int kRun = 256;  // elements, of ops/selection/soft_threshold24.h
constexpr int kRunWarps = 4;

struct OldMoments {
  double sum;
  Count count;
};

// sums[run], and the number of old weights; a warp takes 32 runs, a lane adds one of them. A zero
// more changes no bit: a sum that begins with +0 is never -0.
__global__ __launch_bounds__(kRunWarps* kWarp) void sum_runs_kernel(
    const float* __restrict__ v, const std::uint8_t* __restrict__ mask,
    const std::uint8_t* __restrict__ grown, std::int64_t n, double* __restrict__ sums,
    OldMoments* __restrict__ old) {
  __shared__ float tiles[kRunWarps][kWarp][kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  auto& tile = tiles[warp];
  const std::int64_t first_run = (std::int64_t{blockIdx.x} * kRunWarps + warp) * kWarp;
  double sum = 0.0;
  int count = 0;
  for (int begin = 0; begin < kRun; begin += kWarp) {
#pragma unroll 8
    for (int run = 0; run < kWarp; ++run) {
      const std::int64_t i = (first_run + run) * kRun + begin + lane;
      const bool is_old = i < n && mask[i] != 0 && grown[i] == 0;
      tile[run][lane] = is_old ? v[i] : 0.0f;
      count += is_old ? 1 : 0;
    }
    __syncwarp();
#pragma unroll 8
    for (int k = 0; k < kWarp; ++k) sum += static_cast<double>(tile[lane][k]);
    __syncwarp();
  }
  if ((first_run + lane) * kRun < n) sums[first_run + lane] = sum;
  count = warp_sum(count);
  if (lane == 0 && count > 0) atomicAdd(&old->count, static_cast<Count>(count));
}

// `old` is nullptr for the policy kZero.
__global__ __launch_bounds__(kThreads) void set_moments_kernel(
    float* __restrict__ m, float* __restrict__ v, const std::uint8_t* __restrict__ grown,
    std::int64_t n, const OldMoments* __restrict__ old) {
  float mean = 0.0f;
  if (old != nullptr && old->count > 0)
    mean = __double2float_rn(__ddiv_rn(old->sum, static_cast<double>(old->count)));
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) {
    if (grown[i] == 0) continue;
    m[i] = 0.0f;
    v[i] = mean;
  }
}

OldMoments* sum_old_moments(const RegrowMomentsArgs& args, Queue& queue) {
  const cudaStream_t stream = stream_of(queue);
  const std::int64_t n = args.v.num_elements(), runs = ceil_div(n, kRun);
  constexpr std::int64_t kHead = 256;
  std::byte* const scratch = reduction_scratch(queue, kHead + runs * std::int64_t{sizeof(double)});
  auto* const old = reinterpret_cast<OldMoments*>(scratch);
  auto* const sums = reinterpret_cast<double*>(scratch + kHead);
  TWILL_CUDA_CHECK(cudaMemsetAsync(old, 0, sizeof(OldMoments), stream));
  sum_runs_kernel<<<static_cast<unsigned>(ceil_div(runs, kRunWarps * kWarp)), kRunWarps * kWarp, 0,
                    stream>>>(pointer<float>(ConstView(args.v)), pointer<std::uint8_t>(args.mask),
                              pointer<std::uint8_t>(args.grown), n, sums, old);
  TWILL_CUDA_CHECK_LAUNCH();
  ordered_sums_kernel<1><<<1, kOrderedThreads, 0, stream>>>(sums, runs, &old->sum);
  TWILL_CUDA_CHECK_LAUNCH();
  return old;
}

}  // namespace

void topology_update(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  TWILL_CHECK(args.weight.dtype() == DType::kF32, "weights of a topology are f32");
  const std::int64_t n = args.mask.num_elements();
  if (n == 0) return;
  const cudaStream_t stream = stream_of(queue);
  const unsigned blocks = grid_for(ceil_div(n, kThreads), 8, device);
  auto* const mask = pointer<std::uint8_t>(args.mask);
  auto* const marks = pointer<std::uint8_t>(args.grown);
  auto* const weight = pointer<float>(args.weight);
  const Quads quads{.n = n, .whole = is_aligned({args.weight, args.grad, args.mask, args.grown})};

  if (args.num_prune > 0) {
    TWILL_CUDA_CHECK(cudaMemsetAsync(marks, 0, static_cast<std::size_t>(n), stream));
    mark_best(ScoreKeys{.quads = quads,
                        .weight = weight,
                        .grad = pointer<float>(args.grad),
                        .mask = mask,
                        .score = args.score,
                        .lambda = static_cast<float>(args.mest_lambda)},
              {.count = static_cast<Count>(args.num_prune), .all_but = true}, marks, device, queue);
  } else {
    mark_active_kernel<<<blocks, kThreads, 0, stream>>>(mask, marks, n);
    TWILL_CUDA_CHECK_LAUNCH();
  }
  if (args.num_grad > 0)
    mark_best(GradKeys{.quads = quads, .grad = pointer<float>(args.grad), .marks = marks},
              {.count = static_cast<Count>(args.num_grad), .all_but = false}, marks, device, queue);
  if (args.num_random > 0)
    mark_best(RandomKeys{.quads = quads,
                         .marks = marks,
                         .seed = args.seed,
                         .update = args.update,
                         .tag = static_cast<std::uint32_t>(Purpose::kGrow) | args.stream << 8},
              {.count = static_cast<Count>(args.num_random), .all_but = false}, marks, device,
              queue);
  finish_kernel<<<blocks, kThreads, 0, stream>>>(weight, mask, marks, n);
  TWILL_CUDA_CHECK_LAUNCH();
}

void regrow_moments(const RegrowMomentsArgs& args, const Device& device, Queue& queue) {
  TWILL_CHECK(args.v.dtype() == DType::kF32, "moments are f32");
  const std::int64_t n = args.v.num_elements();
  if (n == 0) return;
  const OldMoments* const old =
      args.policy == RegrownMoments::kLayerMean ? sum_old_moments(args, queue) : nullptr;
  set_moments_kernel<<<grid_for(ceil_div(n, kThreads), 8, device), kThreads, 0, stream_of(queue)>>>(
      pointer<float>(args.m), pointer<float>(args.v), pointer<std::uint8_t>(args.grown), n, old);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace twill::cuda
