// SPDX-License-Identifier: Apache-2.0
// Topology updates on the cpu. While an update runs, `grown` holds the new topology and `mask` the
// old one; the last pass turns them into what the contract says.
//
// Scores are selected by histograms (top_ranks.h); the random part in one pass over the words, whose
// distribution is known beforehand. Bound by philox and by the histograms: some 15 to 30 ns per
// element on one core.
#include "ops/selection/topology.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cpu/kernels.h"
#include "backends/cpu/products/operand.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/top_ranks.h"
#include "base/rng.h"

namespace twill::cpu {
namespace {

// Adds up count_of(begin, end) over the pieces.
template <class CountOf>
std::int64_t sum_of_counts(Queue& queue, std::int64_t n, const CountOf& count_of) {
  std::atomic<std::int64_t> sum = 0;
  run_pieces(queue, n, kRankPiece,
             [&](std::int64_t begin, std::int64_t end) { sum += count_of(begin, end); });
  return sum;
}

std::int64_t num_set(Queue& queue, const std::uint8_t* mask, std::int64_t n) {
  return sum_of_counts(queue, n, [&](std::int64_t begin, std::int64_t end) {
    return std::count_if(mask + begin, mask + end, [](std::uint8_t bit) { return bit != 0; });
  });
}

// Ranks of the elements whose `bits` are set (or, with kUnset, are not set).
template <bool kUnset, class Score>
MakeRanks ranks_where(const std::uint8_t* bits, const Score& score) {
  return [bits, score](std::int64_t begin, std::int64_t end, std::uint32_t* ranks) {
    // Without branches: masks are close to random.
    for (std::int64_t i = begin; i < end; ++i) {
      const bool counts = (bits[i] != 0) != kUnset;
      ranks[i - begin] = rank_of(score(i)) & (counts ? ~0u : 0u);
    }
  };
}

MakeRanks active_ranks(const TopologyUpdateArgs& args) {
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  const float *w = data_of(args.weight), *g = data_of(args.grad);
  switch (args.score) {
    case DropScore::kMagnitude:
      break;
    case DropScore::kMest: {
      const auto lambda = static_cast<float>(args.mest_lambda);
      return ranks_where<false>(mask, [w, g, lambda](std::int64_t i) {
        return std::abs(w[i]) + lambda * std::abs(g[i]);
      });
    }
    case DropScore::kSensitivity:
      return ranks_where<false>(mask, [w, g](std::int64_t i) { return w[i] / (g[i] + 1e-9f); });
  }
  return ranks_where<false>(mask, [w](std::int64_t i) { return w[i]; });
}

// The words of elements 4 * quad to 4 * quad + 3.
Philox4 words_of(const TopologyUpdateArgs& args, std::int64_t quad) {
  const auto q = static_cast<std::uint64_t>(quad);
  const Philox4 counter{static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(q >> 32),
                        args.update, static_cast<std::uint32_t>(Purpose::kGrow) | args.stream << 8};
  return philox4x32(counter, static_cast<std::uint32_t>(args.seed),
                    static_cast<std::uint32_t>(args.seed >> 32));
}

// Words below `sure` are taken unseen, words from there to below `limit` are looked at more closely.
struct WordWindow {
  std::uint64_t sure = 0;
  std::uint64_t limit = std::uint64_t{1} << 32;
};

// The k-th smallest of n uniform words lies within eight standard deviations of k/n, but for one
// case in 1e15. Where it does not (the same update drawn twice in a row is one way), a second pass
// looks on the right side of the window; the result is the same.
WordWindow likely_window(std::int64_t k, std::int64_t n) {
  const double p = static_cast<double>(k) / static_cast<double>(n);
  const double margin =
      (8.0 * std::sqrt(p * (1.0 - p) * static_cast<double>(n)) + 64.0) / static_cast<double>(n);
  return {.sure = static_cast<std::uint64_t>(std::max(0.0, p - margin) * 0x1p32),
          .limit = static_cast<std::uint64_t>(std::min(1.0, p + margin) * 0x1p32)};
}

using Word = std::pair<std::uint32_t, std::int64_t>;  // word, element: ordered as the contract says

// Marks in `grown`: what is drawn may be taken back, what is kept or grown by gradient may not.
constexpr std::uint8_t kFree = 0, kTaken = 1, kDrawn = 2;

// Of the elements that are not taken: how many lie below the window, and which are in it.
struct Draw {
  std::int64_t num_sure = 0;
  std::vector<Word> close;
};

void draw_piece(const TopologyUpdateArgs& args, const WordWindow& window, std::int64_t begin,
                std::int64_t end, Draw& draw) {
  std::uint8_t* marks = args.grown.as<std::uint8_t>();
  for (std::int64_t i = begin; i < end; i += 4) {
    const Philox4 words = words_of(args, i / 4);
    for (std::int64_t e = i; e < std::min(i + 4, end); ++e) {
      const std::uint32_t word = words[static_cast<std::size_t>(e - i)];
      const bool is_free = marks[e] != kTaken;
      const bool sure = is_free & (word < window.sure);
      marks[e] = is_free ? (sure ? kDrawn : kFree) : kTaken;
      draw.num_sure += sure ? 1 : 0;
      if (is_free & !sure & (word < window.limit)) draw.close.emplace_back(word, e);
    }
  }
}

Draw draw_words(const TopologyUpdateArgs& args, const WordWindow& window, Queue& queue) {
  Draw all;
  std::mutex mutex;
  run_pieces(queue, args.mask.num_elements(), kRankPiece,
             [&](std::int64_t begin, std::int64_t end) {
               Draw part;
               draw_piece(args, window, begin, end, part);
               const std::lock_guard lock(mutex);
               all.num_sure += part.num_sure;
               all.close.insert(all.close.end(), part.close.begin(), part.close.end());
             });
  return all;
}

// Draws num_random of the `num_free` elements without a mark.
void mark_random(const TopologyUpdateArgs& args, std::int64_t num_free, Queue& queue) {
  std::uint8_t* marks = args.grown.as<std::uint8_t>();
  if (args.num_random == 0) return;
  if (args.num_random == num_free) {
    std::fill_n(marks, args.mask.num_elements(), kTaken);
    return;
  }
  WordWindow window = likely_window(args.num_random, num_free);
  Draw draw = draw_words(args, window, queue);
  std::int64_t missing = args.num_random - draw.num_sure;
  if (missing < 0 || missing > std::ssize(draw.close)) {
    window = missing < 0 ? WordWindow{.limit = window.sure} : WordWindow{.sure = window.limit};
    draw = draw_words(args, window, queue);
    missing = args.num_random - draw.num_sure;
  }
  std::nth_element(draw.close.begin(), draw.close.begin() + missing, draw.close.end());
  for (std::int64_t k = 0; k < missing; ++k)
    marks[draw.close[static_cast<std::size_t>(k)].second] = kDrawn;
}

// From the old topology in mask and the marks in grown to the results.
void finish(const TopologyUpdateArgs& args, std::int64_t begin, std::int64_t end) {
  std::uint8_t* mask = args.mask.as<std::uint8_t>();
  std::uint8_t* grown = args.grown.as<std::uint8_t>();
  float* weight = data_of(args.weight);
  if (weight != nullptr)
    for (std::int64_t i = begin; i < end; ++i)
      weight[i] = (mask[i] != 0) != (grown[i] != 0) ? 0.0f : weight[i];
  for (std::int64_t i = begin; i < end; ++i) {
    const bool was_active = mask[i] != 0, is_active = grown[i] != 0;
    mask[i] = is_active ? 1 : 0;
    grown[i] = is_active && !was_active ? 1 : 0;
  }
}

// Runs of 256 elements in index order, then the runs in index order: the sum decides nothing here,
// but all backends owe the same bits.
constexpr std::int64_t kRun = 256;
static_assert(kRankPiece % kRun == 0);

float mean_of_old(const RegrowMomentsArgs& args, Queue& queue) {
  const std::int64_t n = args.v.num_elements();
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  const std::uint8_t* grown = args.grown.as<std::uint8_t>();
  const float* v = args.v.as<float>();
  std::vector<double> runs(static_cast<std::size_t>((n + kRun - 1) / kRun));
  const auto is_old = [&](std::int64_t i) { return mask[i] != 0 && grown[i] == 0; };
  const std::int64_t count = sum_of_counts(queue, n, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t old = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      if (is_old(i)) runs[static_cast<std::size_t>(i / kRun)] += static_cast<double>(v[i]);
      old += is_old(i) ? 1 : 0;
    }
    return old;
  });
  const double sum = std::accumulate(runs.begin(), runs.end(), 0.0);
  return count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : 0.0f;
}

}  // namespace

void topology_update(const TopologyUpdateArgs& args, const Device&, Queue& queue) {
  const std::int64_t n = args.mask.num_elements();
  std::uint8_t* marks = args.grown.as<std::uint8_t>();
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  const std::int64_t num_active = num_set(queue, mask, n);
  require_topology_counts(args, num_active);
  const std::int64_t num_kept = num_active - args.num_prune;

  std::transform(mask, mask + n, marks, [&](std::uint8_t bit) {
    return args.num_prune == 0 && bit != 0 ? kTaken : kFree;
  });
  if (args.num_prune > 0) mark_top_ranks(queue, n, num_kept, active_ranks(args), marks);
  const float* g = data_of(args.grad);
  const MakeRanks free_ranks = ranks_where<true>(marks, [g](std::int64_t i) { return g[i]; });
  mark_top_ranks(queue, n, args.num_grad, free_ranks, marks);
  mark_random(args, n - num_kept - args.num_grad, queue);
  run_pieces(queue, n, kRankPiece,
             [&](std::int64_t begin, std::int64_t end) { finish(args, begin, end); });
}

void regrow_moments(const RegrowMomentsArgs& args, const Device&, Queue& queue) {
  const float mean = args.policy == RegrownMoments::kZero ? 0.0f : mean_of_old(args, queue);
  const std::uint8_t* grown = args.grown.as<std::uint8_t>();
  float *m = args.m.as<float>(), *v = args.v.as<float>();
  run_pieces(queue, args.v.num_elements(), kRankPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      m[i] = grown[i] != 0 ? 0.0f : m[i];
      v[i] = grown[i] != 0 ? mean : v[i];
    }
  });
}

}  // namespace twill::cpu
