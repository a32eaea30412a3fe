// SPDX-License-Identifier: Apache-2.0
// pack_sample on CUDA: a warp takes 64 tokens of 64 channels, an atom of packed_layout.h; a lane
// sixteen tokens of eight channels, as mvue24.cu does. Values go from registers to memory: of four
// token rows two remain, in the same columns. Positions are gathered in shared memory, 512 bytes of
// an atom.
//
// 2 B read and 1.125 B written per element (328 MB at 16384 x 6400, 77 us at 4.26 TB/s), under the
// arithmetic of mvue24.cu.
#include "ops/pack_sample.h"

#include <cstdint>

#include "backends/cuda/check.h"
#include "backends/cuda/device/mvue24_block.cuh"
#include "backends/cuda/device/mvue24_draw.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/packed_operand.h"
#include "backends/cuda/queue.h"
#include "backends/cuda/sparsity_kernels.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kBlocksPerSm = 4;  // 128 registers a thread, half of them rows
using Row = Slice<__nv_bfloat16, true>;

// The code of ops/pack24.h for two kept entries of four, bit k of `set` for entry k. As text from
// set 3 on: 0x4, -, 0x8, 0x9, -, -, 0xC, 0xD, -, 0xE.
__device__ __forceinline__ unsigned code_of(unsigned set) {
  constexpr unsigned kLow = 0x4u << 12 | 0x8u << 20 | 0x9u << 24;
  constexpr unsigned kHigh = 0xCu << 4 | 0xDu << 8 | 0xEu << 16;
  return ((set & 8u) != 0 ? kHigh : kLow) >> (4 * (set & 7u)) & 0xfu;
}

// Word w of sixteen rows, two channels: rows 2 g and 2 g + 1 become what group g keeps.
__device__ __forceinline__ void sample_word(unsigned (&rows)[kMvueTokens][Row::kWords], int w,
                                            std::int64_t block, std::int64_t channel,
                                            const MvueDraws& draws, unsigned (&codes)[2]) {
  uint4 random[2];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    random[c] = draws.words(block, channel + c, draws.tag);
    codes[c] = 0;
  }
#pragma unroll
  for (int group = 0; group < 4; ++group) {
    float first[2], second[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float x[4], y[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) x[k] = Row::channel(rows[4 * group + k][w], c);
      const unsigned set = mvue_exact(x, mvue_uniform(word_of(random[c], group)), y);
      first[c] = (set & 1u) != 0 ? y[0] : (set & 2u) != 0 ? y[1] : y[2];
      second[c] = (set & 8u) != 0 ? y[3] : (set & 4u) != 0 ? y[2] : y[1];
      codes[c] |= code_of(set) << (4 * group);
    }
    rows[2 * group][w] = Row::joined(first);
    rows[2 * group + 1][w] = Row::joined(second);
  }
}

__global__ __launch_bounds__(32 * kWarps, kBlocksPerSm) void pack_sample_kernel(
    const __nv_bfloat16* x, __nv_bfloat16* values, uint4* positions, MvueDraws draws,
    const std::int32_t* step_at, PackedLayout layout) {
  __shared__ uint4 atoms[kWarps][32];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t atom = std::int64_t{blockIdx.x} * kWarps + warp;
  if (atom >= layout.num_atoms()) return;
  if (step_at != nullptr) draws.step = static_cast<std::uint32_t>(*step_at);
  const Division at = divide(atom, layout.atoms_down());
  const int m_in = lane % 8 * Row::kChannels, k_in = lane / 8 * kMvueTokens;
  const std::int64_t channel = at.rest * kAtom + m_in, token = at.quotient * kAtom + k_in;
  const std::int64_t channels = layout.rows, tokens = layout.cols;
  const bool is_inside = channel < channels;

  unsigned rows[kMvueTokens][Row::kWords] = {};  // beyond the end zeros, which keep legal positions
#pragma unroll
  for (int t = 0; t < kMvueTokens; ++t)
    if (is_inside && token + t < tokens) Row::read(x + (token + t) * channels + channel, rows[t]);
  auto* words = reinterpret_cast<std::uint16_t*>(atoms[warp]);
#pragma unroll
  for (int w = 0; w < Row::kWords; ++w) {
    unsigned codes[2];
    sample_word(rows, w, token / kMvueTokens, channel + 2 * w, draws, codes);
#pragma unroll
    for (int c = 0; c < 2; ++c)
      words[word_in_atom(m_in + 2 * w + c, k_in)] = static_cast<std::uint16_t>(codes[c]);
  }
  const std::int64_t value = token / 2;
#pragma unroll
  for (int s = 0; s < kMvueTokens / 2; ++s)
    if (is_inside && value + s < layout.row_values())
      Row::write(values + (value + s) * channels + channel, rows[s]);
  __syncwarp();
  positions[atom * 32 + lane] = atoms[warp][lane];
}

}  // namespace

bool fuses_sample(const PackSampleArgs& args) {
  return args.law == MvueLaw::kExact && args.x.dtype() == DType::kBf16 && is_aligned({args.x});
}

void pack_sample(const PackSampleArgs& args, const Device&, Queue& queue) {
  const PackedLayout layout = layout_of(args.shape);
  const MvueDraws draws{.seed = args.seed,
                        .step = args.step,
                        .tag = static_cast<std::uint32_t>(Purpose::kMvue) | args.stream << 8,
                        .second_tag = 0};
  pack_sample_kernel<<<static_cast<unsigned>(ceil_div(layout.num_atoms(), kWarps)), 32 * kWarps, 0,
                       stream_of(queue)>>>(
      pointer<__nv_bfloat16>(args.x), pointer<__nv_bfloat16>(args.storage),
      reinterpret_cast<uint4*>(args.storage.bytes() + layout.positions_begin()), draws,
      pointer<std::int32_t>(args.step_at), layout);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace twill::cuda
