// SPDX-License-Identifier: Apache-2.0
// mvue24 on CUDA: a thread takes sixteen tokens, which share a philox call per channel, of 16 bytes
// of channels (eight of bf16). It asks for all sixteen rows at once, then draws one 32-bit word of
// channels after the other and puts the sample in its place, so that random words live shortly and
// 64 registers of data are all it holds; y may be x.
//
// 4 B per element of bf16 (420 MB at 16384 x 6400, 98 us at 4.26 TB/s). About 13 instructions per
// element for the law, half of them minima, maxima and comparisons at half rate, 4 for philox and 2
// for bf16: near the limit of arithmetic, so 60 to 70 % of a copy. 256 B a thread are in flight,
// 128 KB on an SM. The mask, which training does not ask for, costs another byte.
// Channels that do not fill 16 bytes, and the two-draw law in f64, go channel by channel.
#include "ops/selection/mvue24.h"

#include <algorithm>
#include <cstdint>

#include "backends/cuda/device/selection/mvue24_block.cuh"
#include "backends/cuda/device/selection/mvue24_draw.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerSm = 4;  // 128 registers a thread, half of them rows
constexpr int kTokens = kMvueTokens;

template <MvueLaw kLaw>
__device__ __forceinline__ unsigned draw(const float (&x)[4], std::uint32_t word,
                                         std::uint32_t second, float (&y)[4]) {
  if constexpr (kLaw == MvueLaw::kExact) {
    return mvue_exact(x, mvue_uniform(word), y);
  } else {
    return mvue_two_draw(x, static_cast<double>(mvue_uniform(word)),
                         static_cast<double>(mvue_uniform(second)), y);
  }
}

// Word w of all sixteen rows, the first of whose channels is `channel`. Bit t of kept[c]: the
// channel keeps token t.
template <class T, bool kWhole, MvueLaw kLaw>
__device__ __forceinline__ void sample_word(unsigned (&rows)[kTokens][Slice<T, kWhole>::kWords],
                                            int w, std::int64_t block, std::int64_t channel,
                                            const MvueDraws& draws,
                                            unsigned (&kept)[Slice<T, kWhole>::kPerWord]) {
  using Row = Slice<T, kWhole>;
  uint4 first[Row::kPerWord], second[Row::kPerWord] = {};
#pragma unroll
  for (int c = 0; c < Row::kPerWord; ++c) {
    first[c] = draws.words(block, channel + c, draws.tag);
    if constexpr (kLaw == MvueLaw::kTwoDraw)
      second[c] = draws.words(block, channel + c, draws.second_tag);
    kept[c] = 0;
  }
#pragma unroll
  for (int group = 0; group < 4; ++group) {
    float y[Row::kPerWord][4];
#pragma unroll
    for (int c = 0; c < Row::kPerWord; ++c) {
      float x[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) x[k] = Row::channel(rows[4 * group + k][w], c);
      kept[c] |= draw<kLaw>(x, word_of(first[c], group), word_of(second[c], group), y[c])
                 << (4 * group);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float joint[Row::kPerWord];
#pragma unroll
      for (int c = 0; c < Row::kPerWord; ++c) joint[c] = y[c][k];
      rows[4 * group + k][w] = Row::joined(joint);
    }
  }
}

template <class T, bool kWhole, bool kMask, MvueLaw kLaw>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void mvue24_kernel(
    const T* x, T* y, std::uint8_t* mask, MvueDraws draws, const std::int32_t* step_at,
    std::int64_t tokens, std::int64_t channels, std::int64_t first_block) {
  using Row = Slice<T, kWhole>;
  if (step_at != nullptr) draws.step = static_cast<std::uint32_t>(*step_at);
  const std::int64_t item = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto [block, pack] = divide(item, channels / Row::kChannels);
  if (block * kTokens >= tokens) return;
  const std::int64_t channel = pack * Row::kChannels;
  const std::int64_t at = block * kTokens * channels + channel;
  const int left = static_cast<int>(min(tokens - block * kTokens, std::int64_t{kTokens}));

  unsigned rows[kTokens][Row::kWords] = {};  // tokens beyond the end are zeros
#pragma unroll
  for (int t = 0; t < kTokens; ++t)
    if (t < left) Row::read(x + at + t * channels, rows[t]);
  unsigned kept[Row::kWords][Row::kPerWord];
#pragma unroll
  for (int w = 0; w < Row::kWords; ++w)
    sample_word<T, kWhole, kLaw>(rows, w, first_block + block, channel + w * Row::kPerWord, draws,
                                 kept[w]);
#pragma unroll
  for (int t = 0; t < kTokens; ++t)
    if (t < left) Row::write(y + at + t * channels, rows[t]);
  if constexpr (kMask) {
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      unsigned bits = 0;
#pragma unroll
      for (int c = 0; c < Row::kChannels; ++c)
        bits |= (kept[c / Row::kPerWord][c % Row::kPerWord] >> t & 1u) << c;
      if (t < left) write_flags<kWhole, Row::kChannels>(mask + at + t * channels, bits);
    }
  }
}

template <class T, bool kWhole, MvueLaw kLaw>
void launch(const Mvue24Args& args, Queue& queue) {
  const std::int64_t tokens = args.x.rows(), channels = args.x.cols();
  const std::int64_t items = ceil_div(tokens, kTokens) * (channels / Slice<T, kWhole>::kChannels);
  const auto tag_of = [&](Purpose purpose) {
    return static_cast<std::uint32_t>(purpose) | args.stream << 8;
  };
  const MvueDraws draws{.seed = args.seed,
                        .step = args.step,
                        .tag = tag_of(Purpose::kMvue),
                        .second_tag = tag_of(Purpose::kMvueSecond)};
  const auto kernel =
      args.mask ? mvue24_kernel<T, kWhole, true, kLaw> : mvue24_kernel<T, kWhole, false, kLaw>;
  kernel<<<static_cast<unsigned>(ceil_div(items, kThreads)), kThreads, 0, stream_of(queue)>>>(
      pointer<T>(args.x), pointer<T>(args.y), pointer<std::uint8_t>(args.mask), draws,
      pointer<std::int32_t>(args.step_at), tokens, channels, args.first_block());
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void mvue24(const Mvue24Args& args, const Device&, Queue& queue) {
  if (args.x.num_elements() == 0) return;
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    if (args.law == MvueLaw::kTwoDraw) return launch<T, false, MvueLaw::kTwoDraw>(args, queue);
    if (is_aligned({args.x, args.y, args.mask}) && args.x.cols() % kVec<T> == 0)
      return launch<T, true, MvueLaw::kExact>(args, queue);
    return launch<T, false, MvueLaw::kExact>(args, queue);
  });
}

}  // namespace twill::cuda
