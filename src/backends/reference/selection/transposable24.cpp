// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/transposable24.h"

#include <algorithm>
#include <numeric>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/selection/magnitude.h"

namespace twill::reference {
namespace {

template <class T>
using Block = std::array<T, 16>;  // row-major magnitudes

bool keeps(std::uint16_t pattern, int entry) { return (pattern >> (15 - entry) & 1) != 0; }

// The sum of the two kept magnitudes of one row. The first one is added to 0, which changes no bit.
template <class T>
T row_score(const Block<T>& block, std::uint16_t pattern, int row) {
  T sum{0};
  for (int entry = 4 * row; entry < 4 * row + 4; ++entry)
    if (keeps(pattern, entry)) sum += block[static_cast<std::size_t>(entry)];
  return sum;
}

template <class T>
T score(const Block<T>& block, std::uint16_t pattern) {
  return (row_score(block, pattern, 0) + row_score(block, pattern, 1)) +
         (row_score(block, pattern, 2) + row_score(block, pattern, 3));
}

template <class T>
std::uint16_t best_pattern(const Block<T>& block) {
  std::uint16_t best = transposable_patterns()[0];
  for (const std::uint16_t pattern : transposable_patterns())
    if (score(block, pattern) > score(block, best)) best = pattern;
  return best;
}

template <class T>
std::uint16_t greedy_pattern(const Block<T>& block) {
  std::array<int, 16> order{};
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    return block[static_cast<std::size_t>(a)] > block[static_cast<std::size_t>(b)];
  });
  unsigned pattern = 0;
  int in_row[4] = {}, in_column[4] = {};
  for (const int entry : order) {
    if (in_row[entry / 4] == 2 || in_column[entry % 4] == 2) continue;
    ++in_row[entry / 4], ++in_column[entry % 4];
    pattern |= 1u << (15 - entry);
  }
  return static_cast<std::uint16_t>(pattern);
}

template <class T>
void run(const Transposable24Args& args) {
  const std::int64_t C = args.x.cols();
  for (std::int64_t r = 0; r < args.x.rows(); r += 4) {
    for (std::int64_t c = 0; c < C; c += 4) {
      Block<T> block{};
      for (int i = 0; i < 16; ++i)
        block[static_cast<std::size_t>(i)] = magnitude(args.x.as<T>()[(r + i / 4) * C + c + i % 4]);
      const std::uint16_t pattern =
          args.method == TransposableMethod::kExact ? best_pattern(block) : greedy_pattern(block);
      for (int i = 0; i < 16; ++i)
        args.mask.as<std::uint8_t>()[(r + i / 4) * C + c + i % 4] = keeps(pattern, i);
    }
  }
}

}  // namespace

void transposable24(const Transposable24Args& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
