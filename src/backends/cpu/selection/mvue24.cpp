// SPDX-License-Identifier: Apache-2.0
// MVUE on the cpu: blocks of sixteen tokens, which share a philox call per channel; a vector holds
// neighbouring channels.
//
// Exact law: some fifty instructions per vector of groups of four and forty products per vector of
// philox calls, that is near the speed of memory. The two-draw law is there to compare with: scalar.
// A draw is a function of token, channel, step and stream, so any cut gives the same bits.
#include "ops/selection/mvue24.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/lossy_simd.h"
#include "base/rng.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kBlock = 16;     // tokens of a philox call
constexpr std::int64_t kPiece = 16384;  // elements: about 15 us
constexpr std::int64_t kChunk = 64;     // channels whose words wait on the stack: 2 KB

std::uint32_t tag_of(const Mvue24Args& args, Purpose purpose) {
  return static_cast<std::uint32_t>(purpose) | args.stream << 8;
}

Philox4 words_of(const Mvue24Args& args, Purpose purpose, std::int64_t block, std::int64_t c) {
  return philox4x32({static_cast<std::uint32_t>(args.first_block() + block),
                     static_cast<std::uint32_t>(c), args.step_now(), tag_of(args, purpose)},
                    static_cast<std::uint32_t>(args.seed),
                    static_cast<std::uint32_t>(args.seed >> 32));
}

double uniform(std::uint32_t word) { return static_cast<double>(word >> 9) * 0x1p-23; }

// Four tokens of one channel.
void two_draw_group(const Mvue24Args& args, std::int64_t token, std::int64_t c, double u,
                    double u2) {
  const std::int64_t C = args.x.cols();
  const std::int64_t rows = std::min<std::int64_t>(4, args.x.rows() - token);
  const std::int64_t first = token * C + c;
  float group[4] = {};
  for (std::int64_t k = 0; k < rows; ++k) group[k] = args.x.as<float>()[first + k * C];
  const MvuePair<float> pair = mvue24_two_draw(group, u, u2);
  for (std::int64_t k = 0; k < rows; ++k) {
    args.y.as<float>()[first + k * C] = pair.value_at(static_cast<int>(k));
    if (args.mask)
      args.mask.as<std::uint8_t>()[first + k * C] = pair.keeps(static_cast<int>(k)) ? 1 : 0;
  }
}

// Channels [begin, end) of a block, row group by row group: sixteen rows at once would fight for
// the same lines of the cache.
void two_draw_chunk(const Mvue24Args& args, std::int64_t block, std::int64_t begin,
                    std::int64_t end) {
  Philox4 first[kChunk], second[kChunk];
  for (std::int64_t c = begin; c < end; ++c) {
    first[c - begin] = words_of(args, Purpose::kMvue, block, c);
    second[c - begin] = words_of(args, Purpose::kMvueSecond, block, c);
  }
  for (std::int64_t w = 0; w < 4 && kBlock * block + 4 * w < args.x.rows(); ++w)
    for (std::int64_t c = begin; c < end; ++c) {
      const auto word = static_cast<std::size_t>(w);
      two_draw_group(args, kBlock * block + 4 * w, c, uniform(first[c - begin][word]),
                     uniform(second[c - begin][word]));
    }
}

void two_draw_block(const Mvue24Args& args, std::int64_t block) {
  for (std::int64_t c = 0; c < args.x.cols(); c += kChunk)
    two_draw_chunk(args, block, c, std::min(c + kChunk, args.x.cols()));
}

}  // namespace

void mvue24(const Mvue24Args& args, const Device&, Queue& queue) {
  const std::int64_t tokens = args.x.rows(), C = args.x.cols();
  const MvueBlock problem{.x = args.x.as<float>(),
                          .y = args.y.as<float>(),
                          .mask = args.mask ? args.mask.as<std::uint8_t>() : nullptr,
                          .tokens = tokens,
                          .channels = C,
                          .first_block = args.first_block(),
                          .seed = args.seed,
                          .step = args.step_now(),
                          .tag = tag_of(args, Purpose::kMvue)};
  run_pieces(queue, (tokens + kBlock - 1) / kBlock, rows_per_task(kPiece, kBlock * C),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t block = begin; block < end; ++block) {
                 if (args.law == MvueLaw::kExact) mvue24_block(problem, block);
                 if (args.law == MvueLaw::kTwoDraw) two_draw_block(args, block);
               }
             });
}

}  // namespace twill::cpu
