// SPDX-License-Identifier: Apache-2.0
// transposable24 on the cpu. Exact: one block per lane; 24 sums of pairs, 72 of half blocks, then 90
// additions with a running maximum: about 480 vector instructions for 16 blocks with AVX-512.
// Greedy: one block at a time.
#include "ops/transposable24.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection24_simd.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // elements

// Keys descend as magnitudes do, and of equal ones as indices rise.
std::uint64_t key_of(float x, std::uint32_t entry) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & 0x7FFF'FFFFu;
  return std::uint64_t{std::min(bits, 0x7F80'0000u)} << 4 | (15 - entry);
}

void greedy_block(const float* x, std::uint8_t* mask, std::int64_t stride) {
  std::array<std::uint64_t, 16> keys{};
  for (std::uint32_t i = 0; i < 16; ++i) {
    keys[i] = key_of(x[i / 4 * stride + i % 4], i);
    mask[i / 4 * stride + i % 4] = 0;
  }
  std::ranges::sort(keys, std::greater());
  std::uint8_t in_row[4] = {}, in_column[4] = {};
  for (const std::uint64_t key : keys) {
    const std::uint64_t entry = 15 - (key & 15), row = entry / 4, column = entry % 4;
    if (in_row[row] == 2 || in_column[column] == 2) continue;
    ++in_row[row], ++in_column[column];
    mask[static_cast<std::int64_t>(row) * stride + static_cast<std::int64_t>(column)] = 1;
  }
}

void greedy_blocks(const float* x, std::uint8_t* mask, std::int64_t stride, std::int64_t cols) {
  for (std::int64_t c = 0; c < cols; c += 4) greedy_block(x + c, mask + c, stride);
}

}  // namespace

void transposable24(const Transposable24Args& args, const Device&, Queue& queue) {
  const std::int64_t C = args.x.cols();
  const float* x = args.x.as<float>();
  std::uint8_t* mask = args.mask.as<std::uint8_t>();
  const auto search =
      args.method == TransposableMethod::kExact ? best_transposable24 : greedy_blocks;
  run_pieces(queue, args.x.rows() / 4, rows_per_task(kPiece, 4 * C),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = 4 * C * begin; i < 4 * C * end; i += 4 * C)
                 search(x + i, mask + i, C, C);
             });
}

}  // namespace twill::cpu
