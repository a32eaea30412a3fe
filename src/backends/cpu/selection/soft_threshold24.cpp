// SPDX-License-Identifier: Apache-2.0
// The soft threshold on the cpu: pieces of some 16 Ki elements.
//
// Bound by memory: 8 B per element, about ten instructions per vector of them. The sums run once
// per weight and run of training: four chains of additions side by side, in scalar f64.
#include "ops/selection/soft_threshold24.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/lossy_simd.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // 128 KB of traffic; a multiple of four
constexpr std::int64_t kRun = 256;      // of the contract's order of addition
constexpr std::int64_t kRunsPerPiece = 32;

using Sums = std::array<double, 4>;

// The bits of |x|, NaN as infinity: their order as integers is that of the magnitudes.
std::int32_t rank_of(float x) {
  return std::min(std::bit_cast<std::int32_t>(std::abs(x)), 0x7f80'0000);
}

// S of the member at `at` of the group that starts at `first` with members `stride` apart.
float softened(const float* x, std::int64_t first, std::int64_t stride, std::int64_t at) {
  const std::int32_t b0 = rank_of(x[first]), b1 = rank_of(x[first + stride]);
  const std::int32_t b2 = rank_of(x[first + 2 * stride]), b3 = rank_of(x[first + 3 * stride]);
  const std::int32_t t = std::min(std::max(std::min(b0, b1), std::min(b2, b3)),
                                  std::min(std::max(b0, b1), std::max(b2, b3)));
  const float rest = std::abs(x[at]) - std::bit_cast<float>(t);
  return rest <= 0.0f ? 0.0f : std::copysign(rest, x[at]);
}

Sums sums_of_run(const SoftThreshold24SumsArgs& args, std::int64_t begin, std::int64_t end) {
  const float* x = args.x.as<float>();
  const std::int64_t C = args.x.cols();
  float soft[kRun];
  if (args.axis == GroupAxis::kWithinRow) {
    soft_threshold24_row(x + begin, soft, 1.0f, end - begin);
  } else {
    for (std::int64_t i = begin; i < end; ++i)
      soft[i - begin] = softened(x, i - i / C % 4 * C, C, i);
  }
  Sums sums{};
  for (std::int64_t i = begin; i < end; ++i) {
    const double value = x[i], s = soft[i - begin];
    sums[0] += value * s;
    sums[1] += s * s;
    sums[2] += std::abs(value);
    sums[3] += std::abs(s);
  }
  return sums;
}

}  // namespace

void soft_threshold24(const SoftThreshold24Args& args, const Device&, Queue& queue) {
  const float* x = args.x.as<float>();
  float* y = args.y.as<float>();
  const auto scale = static_cast<float>(args.scale);
  if (args.axis == GroupAxis::kWithinRow) {
    run_pieces(queue, args.x.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
      soft_threshold24_row(x + begin, y + begin, scale, end - begin);
    });
    return;
  }
  const std::int64_t C = args.x.cols();
  run_pieces(queue, args.x.rows() / 4, rows_per_task(kPiece, 4 * C),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t g = begin; g < end; ++g)
                 soft_threshold24_columns(x + 4 * g * C, y + 4 * g * C, scale, C, C);
             });
}

void soft_threshold24_sums(const SoftThreshold24SumsArgs& args, const Device&, Queue& queue) {
  const std::int64_t n = args.x.num_elements(), num_runs = (n + kRun - 1) / kRun;
  std::vector<Sums> runs(static_cast<std::size_t>(num_runs));
  run_pieces(queue, num_runs, kRunsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      runs[static_cast<std::size_t>(r)] = sums_of_run(args, r * kRun, std::min(n, (r + 1) * kRun));
  });
  Sums total{};
  for (const Sums& sums : runs)
    for (std::size_t k = 0; k < 4; ++k) total[k] += sums[k];
  std::copy(total.begin(), total.end(), args.sums.as<double>());
}

}  // namespace twill::cpu
