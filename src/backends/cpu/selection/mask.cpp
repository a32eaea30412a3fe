// SPDX-License-Identifier: Apache-2.0
// The ops of masks on the cpu. All are bound by memory: 1 to 9 B per element.
#include "ops/selection/mask.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/mask_simd.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 32768;  // elements
constexpr std::int64_t kRun = 256;      // elements added up before they join the total
constexpr std::int64_t kWave = 1024;    // runs whose sums lie on the stack at one time: 40 KB

using Sums = std::array<double, 5>;

Sums sums_of_run(const float* x, const std::uint8_t* mask, std::int64_t n) {
  Sums sums{};
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = std::abs(double{x[i]}), square = value * value;
    const bool kept = mask[i] != 0;
    sums[0] += value;
    sums[1] += square;
    sums[2] += kept ? value : 0.0;
    sums[3] += kept ? square : 0.0;
    sums[4] += kept ? 1.0 : 0.0;
  }
  return sums;
}

}  // namespace

void apply_mask(const ApplyMaskArgs& args, const Device&, Queue& queue) {
  const float* x = args.x.as<float>();
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  float* y = args.y.as<float>();
  if (!args.keep_columns) {
    run_pieces(queue, args.x.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
      keep_masked(x + begin, mask + begin, nullptr, y + begin, end - begin);
    });
    return;
  }
  const std::uint8_t* columns = args.keep_columns.as<std::uint8_t>();
  const std::int64_t C = args.x.cols();
  run_pieces(queue, args.x.rows(), rows_per_task(kPiece, C),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin * C; i < end * C; i += C)
                 keep_masked(x + i, mask + i, columns, y + i, C);
             });
}

void mask_difference(const MaskDifferenceArgs& args, const Device&, Queue& queue) {
  const std::uint8_t* a = args.a.as<std::uint8_t>();
  const std::uint8_t* b = args.b.as<std::uint8_t>();
  std::atomic<std::int64_t> count = 0;  // integers: their order is free
  run_pieces(queue, args.a.num_elements(), 4 * kPiece, [&](std::int64_t begin, std::int64_t end) {
    count += count_different(a + begin, b + begin, end - begin);
  });
  *args.count.as<double>() = static_cast<double>(count.load());
}

void mask_mass(const MaskMassArgs& args, const Device&, Queue& queue) {
  const std::int64_t n = args.x.num_elements(), num_runs = (n + kRun - 1) / kRun;
  const float* x = args.x.as<float>();
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  Sums total{};
  std::array<Sums, kWave> sums;
  for (std::int64_t first = 0; first < num_runs; first += kWave) {
    const std::int64_t count = std::min(kWave, num_runs - first);
    run_pieces(queue, count, kPiece / kRun, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t run = begin; run < end; ++run) {
        const std::int64_t at = (first + run) * kRun;
        sums[static_cast<std::size_t>(run)] =
            sums_of_run(x + at, mask + at, std::min(kRun, n - at));
      }
    });
    for (std::int64_t run = 0; run < count; ++run)
      for (std::size_t k = 0; k < 5; ++k) total[k] += sums[static_cast<std::size_t>(run)][k];
  }
  std::ranges::copy(total, args.sums.as<double>());
}

void count_nonzero(const CountNonzeroArgs& args, const Device&, Queue& queue) {
  const std::int64_t R = args.x.rows(), C = args.x.cols();
  const float* x = args.x.as<float>();
  std::int32_t* counts = args.counts.as<std::int32_t>();
  run_pieces(queue, C, 64, [&](std::int64_t begin, std::int64_t end) {
    std::fill(counts + begin, counts + end, 0);
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t c = begin; c < end; ++c) counts[c] += x[r * C + c] != 0.0f;
  });
}

}  // namespace twill::cpu
