// SPDX-License-Identifier: Apache-2.0
// The end of a step over all tensors on CUDA. Tensors are cut into pieces of 8192 elements that are
// numbered through; the table holds each tensor's first piece, and a block finds its tensor by
// bisection (ten steps for GPT-2 1558M).
//
// adamw_all: one block per piece, one launch. Bound by memory: 30 B per element with an operand, 22 B
//            with bf16 moments, a mask 1 B more (a word per four elements). Whether there is one is
//            asked once per block, and without one the loop is that of adamw. Frozen second
//            moments and decay of weights have kernels of their own.
// norm_all:  at most kNormPartials blocks, each a run of pieces, squares added in f64 (exact
//            products, 4 B per element: five conversions and additions per clock of the 16 that
//            fit); then one block adds the blocks' sums in a fixed order. The cut depends on the
//            tensors alone.
#include "ops/update/update_all.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "backends/cuda/device/adamw_element.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

constexpr int kNormThreads = 256;
constexpr int kFinishThreads = 1024;  // four partial sums each

// What the table holds of a decay on weights: its rate follows the learning rate.
struct WeightPull {
  const std::uint8_t* mask;
  double strength;
};

template <class M, class Decay = PrunedDecay>
struct Entry {
  AdamwTensors<M> tensors;
  std::int64_t count;
  double lr_scale;
  float weight_decay;
  std::uint32_t first_piece;  // over all tensors
  Decay decay;                // without a mask: none
};
static_assert(sizeof(Entry<float>) == update_table_bytes(1));
static_assert(sizeof(Entry<float, WeightPull>) == update_table_bytes(1));

struct Settings {
  double beta1, beta2, eps, clip;
  std::uint64_t seed;
};

// The tensor of a piece: the last one that begins at or before it. An empty tensor begins where the
// next one does, so it is never the last.
template <class Entry>
__device__ __forceinline__ int tensor_of(const Entry* table, int num_tensors, std::int64_t piece) {
  int low = 0, high = num_tensors;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (table[middle].first_piece <= piece)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// sums[j] += x[i]² for this thread's share of the piece [begin, end) of x; begin is a multiple of
// four. Loads stand before sums: at least four of a thread's eight are in flight.
__device__ __forceinline__ void add_squares(const float* x, std::int64_t begin, std::int64_t end,
                                            double (&sums)[4]) {
  constexpr int kLoads = static_cast<int>(kAdamwPiece) / (4 * kNormThreads);
  const int thread = static_cast<int>(threadIdx.x);
  std::int64_t done = begin;
  if (reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
    done = end - end % 4;
    float v[kLoads][4] = {};
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const std::int64_t i = begin + 4 * (thread + k * kNormThreads);
      if (i < done) load(x + i, v[k]);
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[j] = fma(double{v[k][j]}, double{v[k][j]}, sums[j]);
  }
#pragma unroll 4
  for (std::int64_t i = done + thread; i < end; i += kNormThreads)
    sums[0] = fma(double{x[i]}, double{x[i]}, sums[0]);
}

// Reads gradients only, whatever the type of the moments.
__global__ __launch_bounds__(kNormThreads) void norm_kernel(const Entry<float>* __restrict__ table,
                                                            int num_tensors, std::int64_t pieces,
                                                            std::int64_t pieces_per_block,
                                                            double* __restrict__ partials) {
  const std::int64_t first = blockIdx.x * pieces_per_block;
  const std::int64_t last = min(first + pieces_per_block, pieces);
  int tensor = tensor_of(table, num_tensors, first);
  double sums[4] = {};
  for (std::int64_t piece = first; piece < last; ++piece) {
    while (tensor + 1 < num_tensors && table[tensor + 1].first_piece <= piece) ++tensor;
    const std::int64_t begin = (piece - table[tensor].first_piece) * kAdamwPiece;
    const std::int64_t end = min(begin + kAdamwPiece, table[tensor].count);
    add_squares(in_global(table[tensor].tensors.grad), begin, end, sums);
  }
  const double sum = block_sum<kNormThreads>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ __launch_bounds__(kFinishThreads) void finish_norm_kernel(
    const double* __restrict__ partials, int count, double* __restrict__ norm2) {
  double sum = 0.0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kFinishThreads) sum += partials[i];
  sum = block_sum<kFinishThreads>(sum);
  if (threadIdx.x == 0) *norm2 = sum;
}

__device__ __forceinline__ double clipping_scale(double norm2, double clip) {
  const double norm = sqrt(norm2);
  return clip > 0.0 && norm > clip ? clip / norm : 1.0;
}

template <class Entry>
__device__ __forceinline__ AdamwCoefficients coefficients_of(const Entry& entry,
                                                             const Settings& settings, double norm2,
                                                             const double* scalars) {
  return adamw_coefficients({.lr = scalars[kLr] * entry.lr_scale,
                             .beta1 = settings.beta1,
                             .beta2 = settings.beta2,
                             .eps = settings.eps,
                             .weight_decay = entry.weight_decay,
                             .grad_scale = clipping_scale(norm2, settings.clip),
                             .correction1 = scalars[kCorrection1],
                             .correction2 = scalars[kCorrection2]});
}

template <class M>
__device__ __forceinline__ MomentDraws<M> draws_of(int tensor, const Settings& settings,
                                                   const double* scalars) {
  if constexpr (std::is_same_v<M, float>) {
    return {};
  } else {
    return {.seed = settings.seed,
            .first_element = static_cast<std::uint64_t>(tensor) << 40,
            .step = static_cast<std::uint32_t>(static_cast<std::int64_t>(scalars[kUpdate])),
            .purpose = static_cast<std::uint32_t>(Purpose::kMoments)};
  }
}

// Blocks on a multiprocessor: six with f32 moments (40 registers, 96 KB of loads in flight), five
// with bf16 ones (48 registers for the draws, 60 KB).
template <class M>
inline constexpr int kBlocksPerSm = sizeof(M) == 4 ? 6 : 5;

// In f64 until here, as masked_decay has it.
template <class M>
__device__ __forceinline__ PrunedPull pull_of(const Entry<M, WeightPull>& entry,
                                              const double* scalars) {
  const double lr = scalars[kLr] * entry.lr_scale;
  return {.mask = entry.decay.mask, .rate = static_cast<float>(-lr * entry.decay.strength)};
}

template <bool kFreezeV, class M, class Decay>
__global__ __launch_bounds__(kAdamwThreads, kBlocksPerSm<M>) void adamw_all_kernel(
    const Entry<M, Decay>* __restrict__ table, int num_tensors, const double* __restrict__ norm2,
    const double* __restrict__ scalars, Settings settings) {
  __shared__ Entry<M, Decay> entry;
  __shared__ AdamwCoefficients coefficients;
  __shared__ MomentDraws<M> draws;
  if (!isfinite(*norm2) || !isfinite(scalars[kLoss])) return;
  const std::int64_t piece = blockIdx.x;
  if (threadIdx.x == 0) {  // f64 divisions and a chain of loads: once per block
    const int tensor = tensor_of(table, num_tensors, piece);
    entry = table[tensor];
    coefficients = coefficients_of(entry, settings, *norm2, scalars);
    draws = draws_of<M>(tensor, settings, scalars);
  }
  __syncthreads();
  const std::int64_t begin = (piece - entry.first_piece) * kAdamwPiece;
  const std::int64_t end = min(begin + kAdamwPiece, entry.count);
  const AdamwCoefficients c = coefficients;  // stores to tensors cannot change what is in registers
  const AdamwTensors<M> tensors = entry.tensors;
  if (entry.decay.mask == nullptr)
    return adamw_piece<kFreezeV>(c, tensors, draws, NoDecay(), begin, end);
  if constexpr (std::is_same_v<Decay, WeightPull>) {
    adamw_piece<kFreezeV>(c, tensors, draws, pull_of(entry, scalars), begin, end);
  } else {
    const PrunedDecay decay = entry.decay;
    adamw_piece<kFreezeV>(c, tensors, draws, decay, begin, end);
  }
}

std::int64_t pieces_of(const UpdateTensor& tensor) {
  return ceil_div(tensor.weight.num_elements(), kAdamwPiece);
}

std::int64_t pieces_of(std::span<const UpdateTensor> tensors) {
  std::int64_t pieces = 0;
  for (const UpdateTensor& tensor : tensors) pieces += pieces_of(tensor);
  return pieces;
}

template <class Decay>
Decay decay_of(const UpdateTensor& tensor) {
  if constexpr (std::is_same_v<Decay, WeightPull>) {
    return {.mask = pointer<std::uint8_t>(tensor.mask), .strength = tensor.decay};
  } else {
    return {.mask = pointer<std::uint8_t>(tensor.mask), .rate = static_cast<float>(tensor.decay)};
  }
}

template <class M, class Decay>
const Entry<M, Decay>* entries_of(const ConstView& table) {
  return reinterpret_cast<const Entry<M, Decay>*>(table.bytes());
}

template <class M, class Decay>
std::vector<Entry<M, Decay>> entries_of(std::span<const UpdateTensor> tensors) {
  std::vector<Entry<M, Decay>> entries;
  entries.reserve(tensors.size());
  std::int64_t piece = 0;
  for (const UpdateTensor& tensor : tensors) {
    entries.push_back({.tensors = {.weight = pointer<float>(tensor.weight),
                                   .grad = pointer<float>(tensor.grad),
                                   .m = pointer<M>(tensor.m),
                                   .v = pointer<M>(tensor.v),
                                   .operand = pointer<__nv_bfloat16>(tensor.operand)},
                       .count = tensor.weight.num_elements(),
                       .lr_scale = tensor.lr_scale,
                       .weight_decay = static_cast<float>(tensor.weight_decay),
                       .first_piece = static_cast<std::uint32_t>(piece),
                       .decay = decay_of<Decay>(tensor)});
    piece += pieces_of(tensor);
  }
  return entries;
}

template <class M, class Decay>
void write_table(const PrepareUpdateArgs& args, Queue& queue) {
  const std::vector<Entry<M, Decay>> entries = entries_of<M, Decay>(args.tensors);
  TWILL_CUDA_CHECK(cudaMemcpyAsync(args.table.bytes(), entries.data(),
                                   entries.size() * sizeof(Entry<M, Decay>), cudaMemcpyHostToDevice,
                                   stream_of(queue)));
  TWILL_CUDA_CHECK(cudaStreamSynchronize(stream_of(queue)));
}

template <class M, class Decay>
void launch_adamw(const AdamwAllArgs& args, std::int64_t pieces, Queue& queue) {
  const auto kernel =
      args.freeze_v ? adamw_all_kernel<true, M, Decay> : adamw_all_kernel<false, M, Decay>;
  kernel<<<static_cast<unsigned>(pieces), kAdamwThreads, 0, stream_of(queue)>>>(
      entries_of<M, Decay>(args.table), static_cast<int>(args.tensors.size()),
      pointer<double>(args.norm2), pointer<double>(args.scalars),
      {.beta1 = args.beta1,
       .beta2 = args.beta2,
       .eps = args.eps,
       .clip = args.clip,
       .seed = args.seed});
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

// Runs once, outside any step: the copy reads a vector that ends with this call, so it waits.
void prepare_update(const PrepareUpdateArgs& args, const Device&, Queue& queue) {
  if (args.tensors.empty()) return;
  TWILL_CHECK(is_aligned({args.table}), "the table begins on a 16-byte boundary");
  TWILL_CHECK(args.tensors.front().weight.dtype() == DType::kF32,
              "the cuda backend keeps weights in f32");
  by_type(args.tensors.front().m.dtype(), [&]<class M>(TypeOf<M>) {
    pulls_weights(args.tensors) ? write_table<M, WeightPull>(args, queue)
                                : write_table<M, PrunedDecay>(args, queue);
  });
}

void norm_all(const NormAllArgs& args, const Device&, Queue& queue) {
  const std::int64_t pieces = pieces_of(args.tensors);
  const std::int64_t pieces_per_block = ceil_div(std::max<std::int64_t>(pieces, 1), kNormPartials);
  const auto blocks = static_cast<int>(ceil_div(pieces, pieces_per_block));
  auto* partials = pointer<double>(args.partials);
  if (blocks > 0) {
    norm_kernel<<<blocks, kNormThreads, 0, stream_of(queue)>>>(
        entries_of<float, PrunedDecay>(args.table), static_cast<int>(args.tensors.size()), pieces,
        pieces_per_block, partials);
    TWILL_CUDA_CHECK_LAUNCH();
  }
  // Without any element too: the norm is then zero.
  finish_norm_kernel<<<1, kFinishThreads, 0, stream_of(queue)>>>(partials, blocks,
                                                                 pointer<double>(args.norm2));
  TWILL_CUDA_CHECK_LAUNCH();
}

void adamw_all(const AdamwAllArgs& args, const Device&, Queue& queue) {
  const std::int64_t pieces = pieces_of(args.tensors);
  if (pieces == 0) return;
  by_type(args.tensors.front().m.dtype(), [&]<class M>(TypeOf<M>) {
    pulls_weights(args.tensors) ? launch_adamw<M, WeightPull>(args, pieces, queue)
                                : launch_adamw<M, PrunedDecay>(args, pieces, queue);
  });
}

}  // namespace twill::cuda
