// SPDX-License-Identifier: Apache-2.0
// pack_sample on CUDA: a block takes 64 tokens of 64 channels, an atom of packed_layout.h; a thread
// sixteen tokens, which share a philox call per channel, of four channels. Values go from registers to
// memory: of four token rows two remain, in the same columns. Positions are gathered in shared memory,
// 512 bytes of an atom.
//
// 2 B read and 1.125 B written per element (328 MB at 16384 x 6400, 77 us at 4.26 TB/s). About 17
// instructions per element (mvue24_pair.cuh), half of them at half rate: some 60 us of arithmetic under
// it. A thread has 32 registers of rows and 80 in all, so that 24 warps of an SM cover their latencies.
#include "ops/packing/pack_sample.h"

#include <cstdint>

#include "backends/cuda/device/selection/mvue24_pack.cuh"
#include "backends/cuda/numbers/partial_sums.cuh"
#include "backends/cuda/packing/packed_operand.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/sparsity_kernels.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

static_assert(kSampleSide == kAtom);
constexpr int kChannels = kSampleChannels;
constexpr int kThreads = static_cast<int>(kAtom / kChannels * (kAtom / kMvueTokens));
constexpr int kBlocksPerSm = 12;

// Word w of sixteen rows, two channels: rows 2 g and 2 g + 1 become what group g keeps. False where
// the numbers want sample_any.
__device__ __forceinline__ bool sample_word(unsigned (&rows)[kMvueTokens][2], int w,
                                            const SamplePlace& at, const MvueDraws& draws,
                                            unsigned (&codes)[2]) {
  const uint4 random[2] = {draws.words(at.block, at.channel + 2 * w, draws.tag),
                           draws.words(at.block, at.channel + 2 * w + 1, draws.tag)};
  CountedPositions positions[2];
  MvuePairChecks checks;
#pragma unroll
  for (int group = 0; group < 4; ++group) {
    const float uniform[2] = {mvue_uniform(word_of(random[0], group)),
                              mvue_uniform(word_of(random[1], group))};
    const uint2 kept =
        mvue_pair(rows[4 * group][w], rows[4 * group + 1][w], rows[4 * group + 2][w],
                  rows[4 * group + 3][w], step_of_first(group), uniform, positions, checks);
    rows[2 * group][w] = kept.x;
    rows[2 * group + 1][w] = kept.y;
  }
  codes[0] = positions[0].bits();
  codes[1] = positions[1].bits();
  return !checks.failed();
}

// The sums of a thread's channels over its sixteen tokens.
__device__ __forceinline__ void add_rows(const unsigned (&rows)[kMvueTokens][2],
                                         float (&sums)[kChannels]) {
#pragma unroll
  for (int t = 0; t < kMvueTokens; ++t) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      sums[c] += half_of(rows[t][c / 2], c % 2);
    }
  }
}

// kWhole: tokens come in sixteens. kSums: partials (atoms along tokens, channels) get column sums.
template <bool kWhole, bool kSums>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void pack_sample_kernel(
    const __nv_bfloat16* x, __nv_bfloat16* values, uint4* positions, MvueDraws draws,
    const std::int32_t* step_at, PackedLayout layout, float* partials) {
  __shared__ float4 of_threads[kThreads];
  __shared__ uint4 atom[kAtomHalves / 8];
  auto* words = reinterpret_cast<std::uint16_t*>(atom);
  if (step_at != nullptr) draws.step = static_cast<std::uint32_t>(*step_at);
  const std::int64_t channels = layout.rows;
  const int m_in = static_cast<int>(threadIdx.x) % 16 * kChannels;
  const int k_in = static_cast<int>(threadIdx.x) / 16 * kMvueTokens;
  const std::int64_t token = std::int64_t{blockIdx.y} * kAtom + k_in;
  const SamplePlace at = sample_place(m_in, k_in, layout.cols);
  const bool is_inside = at.channel < channels && at.tokens > 0;
  const __nv_bfloat16* from = x + token * channels + at.channel;
  __nv_bfloat16* to = values + token / 2 * channels + at.channel;
  unsigned rows[kMvueTokens][2] = {};  // beyond the end zeros, which keep legal positions
  if (is_inside) {
#pragma unroll
    for (int t = 0; t < kMvueTokens; ++t)
      if (kWhole || t < at.tokens) load8_constant(from + t * channels, rows[t]);
  }
  if constexpr (kSums) {
    float sums[kChannels] = {};
    add_rows(rows, sums);
    of_threads[threadIdx.x] = make_float4(sums[0], sums[1], sums[2], sums[3]);
  }
  unsigned codes[kChannels];
  bool is_usual = true;
#pragma unroll
  for (int w = 0; w < 2; ++w) {
    unsigned pair[2];
    is_usual = sample_word(rows, w, at, draws, pair) && is_usual;
    codes[2 * w] = pair[0];
    codes[2 * w + 1] = pair[1];
  }
  if (is_inside) {
    const int kept = (at.tokens + 3) / 4 * 2;
#pragma unroll
    for (int s = 0; s < kMvueTokens / 2; ++s)
      if (kWhole || s < kept) store8(to + s * channels, rows[s]);
    if (!is_usual) {
      for (int c = 0; c < kChannels; ++c) {
        codes[c] =
            sample_any(from + c, to + c, channels, {at.block, at.channel + c, at.tokens}, draws);
      }
    }
  }
#pragma unroll
  for (int c = 0; c < kChannels; ++c)
    words[word_in_atom(m_in + c, k_in)] = static_cast<std::uint16_t>(codes[c]);
  __syncthreads();
  const std::int64_t index = blockIdx.x + std::int64_t{blockIdx.y} * gridDim.x;
  if (threadIdx.x < kAtomHalves / 8)
    positions[index * (kAtomHalves / 8) + threadIdx.x] = atom[threadIdx.x];
  if constexpr (kSums) {
    const std::int64_t channel = std::int64_t{blockIdx.x} * kAtom + threadIdx.x;
    static_assert(kThreads == kAtom);
    if (channel < channels)
      partials[blockIdx.y * channels + channel] = channel_sum(of_threads, threadIdx.x);
  }
}

template <bool kSums>
void launch_sample(const PackSampleArgs& args, const PackedLayout& layout, float* partials,
                   Queue& queue) {
  const MvueDraws draws{.seed = args.seed,
                        .step = args.step,
                        .tag = static_cast<std::uint32_t>(Purpose::kMvue) | args.stream << 8,
                        .second_tag = 0};
  const dim3 atoms(static_cast<unsigned>(layout.atoms_down()),
                   static_cast<unsigned>(layout.atoms_across()));
  const auto kernel = layout.cols % kMvueTokens == 0 ? pack_sample_kernel<true, kSums>
                                                     : pack_sample_kernel<false, kSums>;
  kernel<<<atoms, kThreads, 0, stream_of(queue)>>>(
      pointer<__nv_bfloat16>(args.x), pointer<__nv_bfloat16>(args.storage),
      reinterpret_cast<uint4*>(args.storage.bytes() + layout.positions_begin()), draws,
      pointer<std::int32_t>(args.step_at), layout, partials);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

bool fuses_sample(const PackSampleArgs& args) {
  return args.first_token == 0 && args.law == MvueLaw::kExact && args.x.dtype() == DType::kBf16 &&
         is_aligned({args.x}) && layout_of(args.shape).atoms_across() <= kMostBlocksDown;
}

void pack_sample(const PackSampleArgs& args, const Device& device, Queue& queue) {
  const PackedLayout layout = layout_of(args.shape);
  if (!args.sum) return launch_sample<false>(args, layout, nullptr, queue);
  const std::int64_t count = layout.atoms_across();
  auto* partials = reinterpret_cast<float*>(
      reduction_scratch(queue, count * layout.rows * std::int64_t{sizeof(float)}));
  launch_sample<true>(args, layout, partials, queue);
  add_partials(
      partials, count, layout.rows,
      {.to = {pointer<float>(args.sum)}, .columns = layout.rows, .accumulate = args.accumulate},
      device, queue);
}

}  // namespace twill::cuda
