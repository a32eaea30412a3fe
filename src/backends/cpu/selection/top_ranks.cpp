// SPDX-License-Identifier: Apache-2.0
// Counts are integers and marks depend on the ranks alone, so neither the cut nor the threads
// change a bit.
#include "backends/cpu/selection/top_ranks.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::size_t kBins = 65536;
constexpr std::uint32_t kNoBin = kBins;
using Histogram = std::vector<std::int64_t>;

// Runs body(begin, end, ranks) over the blocks of one piece.
template <class Body>
void for_blocks(std::int64_t n, std::int64_t piece, const MakeRanks& make_ranks, const Body& body) {
  std::uint32_t ranks[kRankBlock];
  const std::int64_t last = std::min(n, (piece + 1) * kRankPiece);
  for (std::int64_t begin = piece * kRankPiece; begin < last; begin += kRankBlock) {
    const std::int64_t end = std::min(last, begin + kRankBlock);
    make_ranks(begin, end, ranks);
    body(begin, end, ranks);
  }
}

std::int64_t num_pieces(std::int64_t n) { return (n + kRankPiece - 1) / kRankPiece; }

// Counts elements by bin_of(rank), which is kBins or more for ranks that do not count.
template <class BinOf>
Histogram histogram(Queue& queue, std::int64_t n, const MakeRanks& make_ranks,
                    const BinOf& bin_of) {
  std::vector<Histogram> parts(static_cast<std::size_t>(cpu_queue(queue).pool().num_threads()));
  run_tasks(queue, num_pieces(n), [&](std::int64_t piece, int thread) {
    Histogram& part = parts[static_cast<std::size_t>(thread)];
    part.resize(kBins);
    for_blocks(n, piece, make_ranks, [&](auto begin, auto end, const std::uint32_t* ranks) {
      // Which ranks count is close to random: gathering them first costs no mispredicted branch.
      std::uint32_t bins[kRankBlock];
      std::int64_t num_bins = 0;
      for (std::int64_t i = 0; i < end - begin; ++i) {
        const std::uint32_t bin = bin_of(ranks[i]);
        bins[num_bins] = bin;
        num_bins += bin < kBins ? 1 : 0;
      }
      for (std::int64_t k = 0; k < num_bins; ++k) ++part[bins[k]];
    });
  });
  Histogram sum(kBins);
  for (const Histogram& part : parts) std::ranges::transform(part, sum, sum.begin(), std::plus<>());
  return sum;
}

// The highest bin at which the bins from the top hold `count`; takes off `count` what lies above it.
std::uint32_t bin_of_last(const Histogram& bins, std::int64_t& count) {
  std::size_t bin = kBins - 1;
  for (; bin > 0 && bins[bin] < count; --bin) count -= bins[bin];
  return static_cast<std::uint32_t>(bin);
}

// Of the elements whose rank is `last`, marks the first `count`. ties[piece] says how many there are.
void mark_ties(std::int64_t n, std::int64_t count, std::uint32_t last, const MakeRanks& make_ranks,
               const std::vector<std::int64_t>& ties, std::uint8_t* marks) {
  for (std::int64_t piece = 0; piece < num_pieces(n) && count > 0; ++piece) {
    if (ties[static_cast<std::size_t>(piece)] == 0) continue;
    for_blocks(n, piece, make_ranks, [&](auto begin, auto end, const std::uint32_t* ranks) {
      for (std::int64_t i = begin; i < end && count > 0; ++i) {
        if (ranks[i - begin] != last) continue;
        marks[i] = 1;
        --count;
      }
    });
  }
}

}  // namespace

void mark_top_ranks(Queue& queue, std::int64_t n, std::int64_t count, const MakeRanks& make_ranks,
                    std::uint8_t* marks) {
  if (count == 0) return;
  const auto high_bits = [](std::uint32_t rank) { return rank == 0 ? kNoBin : rank >> 16; };
  const std::uint32_t high = bin_of_last(histogram(queue, n, make_ranks, high_bits), count);
  // Ranks with other high bits keep some of them, which makes kBins or more.
  const auto low_bits = [high](std::uint32_t rank) {
    return rank == 0 ? kNoBin : rank ^ high << 16;
  };
  const std::uint32_t low = bin_of_last(histogram(queue, n, make_ranks, low_bits), count);
  const std::uint32_t last = high << 16 | low;
  std::vector<std::int64_t> ties(static_cast<std::size_t>(num_pieces(n)));
  run_tasks(queue, num_pieces(n), [&](std::int64_t piece, int) {
    std::int64_t equals = 0;
    for_blocks(n, piece, make_ranks, [&](auto begin, auto end, const std::uint32_t* ranks) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint32_t rank = ranks[i - begin];
        marks[i] = static_cast<std::uint8_t>(marks[i] | static_cast<int>(rank > last));
        equals += rank == last ? 1 : 0;
      }
    });
    ties[static_cast<std::size_t>(piece)] = equals;
  });
  mark_ties(n, count, last, make_ranks, ties, marks);
}

}  // namespace twill::cpu
