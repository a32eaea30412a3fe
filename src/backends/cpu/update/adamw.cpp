// SPDX-License-Identifier: Apache-2.0
// AdamW on the cpu: pieces of 32 Ki elements.
//
// Bound by memory: 28 B per element (weight, m and v read and written, grad read). Elements are
// independent: any cut gives the same bits.
//
// bf16 moments are widened tile by tile, updated by the same code and rounded in plain loops: they
// save memory, not time. The draws make it some 3.5 ns of a core per element instead of 0.6.
#include "ops/update/adamw.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/update/adamw_simd.h"
#include "base/bf16.h"
#include "base/rng.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 32768;  // 512 KB over four tensors: some 40 us

AdamwCoefficients coefficients(const AdamwArgs& args) {
  const auto f32 = [](double value) { return static_cast<float>(value); };
  const auto step = static_cast<double>(args.step);
  return {.grad_scale = f32(args.grad_scale),
          .beta1 = f32(args.beta1),
          .one_minus_beta1 = f32(1.0 - args.beta1),
          .beta2 = f32(args.beta2),
          .one_minus_beta2 = f32(1.0 - args.beta2),
          .inverse_correction1 = f32(1.0 / (1.0 - std::pow(args.beta1, step))),
          .inverse_correction2 = f32(1.0 / (1.0 - std::pow(args.beta2, step))),
          .eps = f32(args.eps),
          .lr = f32(args.lr),
          .weight_decay = f32(args.weight_decay),
          .freeze_v = args.freeze_v};
}

constexpr std::int64_t kTile = 1024;  // 8 KB of widened moments stay in the first cache

Bf16 rounded_by_chance(float x, std::uint32_t draw) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool is_nan = (bits & 0x7fff'ffffu) > 0x7f80'0000u;
  const std::uint32_t rounded = is_nan ? bits | 0x0040'0000u : bits + draw;
  return {static_cast<std::uint16_t>(rounded >> 16)};
}

// The words of `count` elements from `first` on, a multiple of four.
void draw_words(const AdamwArgs& args, std::int64_t first, std::int64_t count,
                std::uint32_t (&words)[kTile]) {
  const std::uint64_t group = (args.stream << 40) + static_cast<std::uint64_t>(first) / 4;
  for (std::uint64_t g = 0; g < static_cast<std::uint64_t>(count + 3) / 4; ++g) {
    const Philox4 four =
        random_bits(args.seed, Purpose::kMoments, static_cast<std::uint32_t>(args.step), group + g);
    std::copy(four.begin(), four.end(), words + 4 * g);
  }
}

template <int kShift>
void round_moments(const float* x, const std::uint32_t* words, std::int64_t count, Bf16* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = rounded_by_chance(x[i], words[i] >> kShift & 0xffffu);
}

// Elements [begin, end), begin a multiple of four.
void update_bf16(const AdamwCoefficients& c, const AdamwArgs& args, std::int64_t begin,
                 std::int64_t end) {
  alignas(64) float m[kTile], v[kTile];
  std::uint32_t words[kTile];
  Bf16 *stored_m = args.m.as<Bf16>(), *stored_v = args.v.as<Bf16>();
  for (std::int64_t first = begin; first < end; first += kTile) {
    const std::int64_t count = std::min(kTile, end - first);
    std::transform(stored_m + first, stored_m + first + count, m, to_float);
    std::transform(stored_v + first, stored_v + first + count, v, to_float);
    const AdamwTensors tile{.weight = args.weight.as<float>() + first,
                            .grad = args.grad.as<float>() + first,
                            .m = m,
                            .v = v};
    adamw_range(c, tile, 0, count);
    draw_words(args, first, count, words);
    round_moments<0>(m, words, count, stored_m + first);
    if (!args.freeze_v) round_moments<16>(v, words, count, stored_v + first);
  }
}

}  // namespace

void adamw(const AdamwArgs& args, const Device&, Queue& queue) {
  const AdamwCoefficients c = coefficients(args);
  if (args.m.dtype() == DType::kBf16)
    return run_pieces(
        queue, args.weight.num_elements(), kPiece,
        [&](std::int64_t begin, std::int64_t end) { update_bf16(c, args, begin, end); });
  const AdamwTensors tensors{.weight = args.weight.as<float>(),
                             .grad = args.grad.as<float>(),
                             .m = args.m.as<float>(),
                             .v = args.v.as<float>()};
  run_pieces(queue, args.weight.num_elements(), kPiece,
             [&](std::int64_t begin, std::int64_t end) { adamw_range(c, tensors, begin, end); });
}

}  // namespace twill::cpu
