// SPDX-License-Identifier: Apache-2.0
// The soft threshold and the packing behind it, from one reading of the masters: groups within a row,
// packed as they lie, rows whole (packed_layout.h). A block has an atom of 64 x 64 entries, a warp 16
// rows of it, a thread eight neighbours in four of them (soft_pack_lanes.h). Values go from registers to
// memory; two lanes put a word of positions together, and a warp stores its 128 bytes of them at once.
//
// Bound by memory: 4 B read and 2 + 1.125 B written per weight (73 MB at 1600 x 6400, 17 us at
// 4.26 TB/s), where two passes move 6 + 3.125 B. A thread has 128 B in flight, an SM 128 KB. Its 57 B of
// a row leave time for some 390 instructions; it has about 200. The projection is that of
// soft_threshold24.cu and is rounded the same way; what is packed are its rounded bits.
#include "ops/packing/soft_pack24.h"

#include "backends/cuda/device/packing/pack24_pair.cuh"
#include "backends/cuda/device/selection/groups24.cuh"
#include "backends/cuda/packing/pack_tiles.h"
#include "backends/cuda/packing/packed_layout.h"
#include "backends/cuda/packing/soft_pack_lanes.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerSm = 8;  // at most 64 registers a thread
constexpr unsigned kWarpWords = kWarpRows * kAtom / 32;
static_assert(kThreads / 32 * kWarpRows == kAtom && kWarpWords == 32);

struct SoftPacking {
  const float* x;
  __nv_bfloat16* projected;
  __nv_bfloat16* values;
  unsigned* positions;
  std::int64_t rows, cols;
  float scale;
};

// A group of rounded results, two in a word. Zeros of either sign are not kept, a NaN is.
__device__ __forceinline__ PackedPair pack_rounded(unsigned low, unsigned high) {
  unsigned entries[4] = {low & 0xffffu, low >> 16, high & 0xffffu, high >> 16};
  unsigned set = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const bool is_kept = (entries[i] & 0x7fffu) != 0;
    set |= unsigned{is_kept} << i;
    entries[i] = is_kept ? entries[i] : 0u;
  }
  return pack_pair<__nv_bfloat16>(entries[0], entries[1], entries[2], entries[3], set);
}

template <bool kKeepsProjected>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void soft_pack24_kernel(SoftPacking a) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t row = std::int64_t{blockIdx.y} * kAtom + warp * kWarpRows + lane / 8;
  const std::int64_t col = std::int64_t{blockIdx.x} * kAtom + column_of_lane(lane);
  const std::int64_t at = row * a.cols + col;
  const auto is_inside = [&](unsigned i) { return row + 4 * i < a.rows && col < a.cols; };

  float x[kLaneRows][8] = {};  // beyond the end zeros, whose positions are the idle ones
#pragma unroll
  for (unsigned i = 0; i < kLaneRows; ++i)
    if (is_inside(i)) read_values<true>(a.x + at + 4 * i * a.cols, x[i]);

  unsigned codes[kLaneRows];
#pragma unroll
  for (unsigned i = 0; i < kLaneRows; ++i) {
    float(&v)[8] = x[i];
    soften_group(v[0], v[1], v[2], v[3], a.scale);
    soften_group(v[4], v[5], v[6], v[7], a.scale);
    unsigned words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = word_at<__nv_bfloat16>(v, 2 * w);
    const PackedPair first = pack_rounded(words[0], words[1]);
    const PackedPair second = pack_rounded(words[2], words[3]);
    codes[i] = first.code | second.code << 4;
    if (!is_inside(i)) continue;
    const std::int64_t here = at + 4 * i * a.cols;
    if constexpr (kKeepsProjected) store_words(a.projected + here, words);
    store_words(a.values + here / 2, {first.values, second.values});
  }

  const bool second = stores_second(lane);
  const unsigned own = part_of_word(codes, lane, second);
  const unsigned word = own | __shfl_xor_sync(0xffff'ffffu, part_of_word(codes, lane, !second), 1);
  const std::int64_t atom = blockIdx.y + std::int64_t{blockIdx.x} * gridDim.y;
  a.positions[(atom * (kThreads / 32) + warp) * kWarpWords + word_of_lane(lane)] = word;
}

}  // namespace

bool fuses_soft_pack(const SoftPack24Args& args) {
  return args.axis == GroupAxis::kWithinRow && !args.transpose && args.x.num_elements() > 0 &&
         args.projected.dtype() == DType::kBf16 &&
         packs_by_tiles(args.shape, {args.x, args.projected, args.storage});
}

void soft_pack24(const SoftPack24Args& args, const Device&, Queue& queue) {
  const PackedLayout layout = layout_of(args.shape);
  const dim3 grid(static_cast<unsigned>(layout.atoms_across()),
                  static_cast<unsigned>(layout.atoms_down()));
  const auto kernel = args.keeps_projected ? soft_pack24_kernel<true> : soft_pack24_kernel<false>;
  kernel<<<grid, kThreads, 0, stream_of(queue)>>>(
      {.x = pointer<float>(args.x),
       .projected = pointer<__nv_bfloat16>(args.projected),
       .values = pointer<__nv_bfloat16>(args.storage),
       .positions = reinterpret_cast<unsigned*>(args.storage.bytes() + layout.positions_begin()),
       .rows = layout.rows,
       .cols = layout.cols,
       .scale = static_cast<float>(args.scale)});
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace twill::cuda
