// SPDX-License-Identifier: Apache-2.0
// FP8 rounding on the cpu: one pass for the largest magnitude, one that rounds.
//
// Bound by memory: 12 B per element. A maximum has no order, so any cut gives the same bits.
#include "ops/numbers/fp8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/lossy_simd.h"
#include "base/fp8.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kMaxBlocks = 256;  // their maxima fit on the stack
constexpr std::int64_t kPiece = 16384;    // 64 KB: some 5 us of reads
constexpr std::uint32_t kInfinityBits = 0x7f80'0000;

std::uint32_t largest_bits_of(const ConstView& x, Queue& queue) {
  const std::int64_t n = x.num_elements();
  const std::int64_t block = std::max(kPiece, (n + kMaxBlocks - 1) / kMaxBlocks);
  std::array<std::uint32_t, kMaxBlocks> largest{};
  run_pieces(queue, n, block, [&](std::int64_t begin, std::int64_t end) {
    largest[static_cast<std::size_t>(begin / block)] =
        largest_bits(x.as<float>() + begin, end - begin);
  });
  return *std::max_element(largest.begin(), largest.end());
}

template <class Fp8>
Fp8Rounding rounding_of(float amax) {
  const float scale = amax == 0.0f ? 1.0f : Fp8::kMax / amax;
  return {.scale = std::min(scale, std::numeric_limits<float>::max()),
          .max = Fp8::kMax,
          .fraction_bits = Fp8::kFractionBits,
          .min_normal = std::bit_cast<float>(detail::Fp8Steps<Fp8>::kMinNormal),
          .last_bit = std::bit_cast<float>(detail::Fp8Steps<Fp8>::kLastBit)};
}

}  // namespace

void fp8_round(const Fp8RoundArgs& args, const Device&, Queue& queue) {
  const float* x = args.x.as<float>();
  float* y = args.y.as<float>();
  const std::uint32_t largest = largest_bits_of(args.x, queue);
  const auto amax = std::bit_cast<float>(largest);
  const Fp8Rounding rounding =
      args.format == Fp8Format::kE4m3 ? rounding_of<Fp8E4m3>(amax) : rounding_of<Fp8E5m2>(amax);
  run_pieces(queue, args.x.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
    if (largest >= kInfinityBits) {
      if (x != y) std::copy(x + begin, x + end, y + begin);
    } else {
      fp8_round_range(rounding, x + begin, y + begin, end - begin);
    }
  });
}

}  // namespace twill::cpu
