// SPDX-License-Identifier: Apache-2.0
// The best `count` of n elements by a 32-bit rank, without a sort: two histograms of 16 bits find
// the rank of the last one taken, a third pass marks.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>

#include "ops/kernel_table.h"

namespace twill::cpu {

// Elements per piece: 256 KB of floats, some 100 us of work.
constexpr std::int64_t kRankPiece = 65536;
// Ranks are made in blocks of this size, which stay in the first cache.
constexpr std::int64_t kRankBlock = 1024;

// Ranks of [begin, end), at most kRankBlock of them; 0 means "not a candidate". Called from several
// threads.
using MakeRanks = std::function<void(std::int64_t begin, std::int64_t end, std::uint32_t* ranks)>;

// Sets marks[i] = 1 for the `count` candidates of highest rank, of equals those of lowest index.
// Other marks stay; `make_ranks` may read them, each element's own only. count <= candidates.
void mark_top_ranks(Queue& queue, std::int64_t n, std::int64_t count, const MakeRanks& make_ranks,
                    std::uint8_t* marks);

// The rank of a score that is 0 or more, or NaN: floats that are not negative order as their bits.
inline std::uint32_t rank_of(float score) {
  constexpr std::uint32_t kInfinity = 0x7F80'0000u;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(score) & 0x7FFF'FFFFu;
  return (bits < kInfinity ? bits : kInfinity) + 1;
}

}  // namespace twill::cpu
