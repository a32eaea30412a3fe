// SPDX-License-Identifier: Apache-2.0
// What a pattern of attention shows to a block of queries, cut into what can be computed without
// the rest: a band of neighbouring keys for every query, and keys far behind it.
//
// Two kinds of reach. A causal pattern whose queries all have a key of their own number is `banded`:
// keys come with the blocks of queries, and tiles outside of the band are left out. Everything else
// (full attention, windows to both sides, more queries than keys) is a rectangle: every block takes
// the keys that one of its queries may see as one range, and what is hidden within becomes -inf.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/attention/attention_pattern.h"

namespace twill::cpu {

// Queries are taken in blocks of 64: four AVX-512 vectors of scores per key.
constexpr std::int64_t kAttentionBlock = 64;
constexpr std::int64_t kQueryGroup = 16;  // a multiple of every vector and of kTileRows
constexpr std::int64_t kTileRows = 4;     // rows of a product that are computed together

struct Span {
  std::int64_t begin;
  std::int64_t end;
};

inline bool is_rectangular(const AttentionMask& mask, std::int64_t queries, std::int64_t keys) {
  return !is_causal(mask.kind) || queries > keys;
}

enum class FarKeys : std::uint8_t {
  kNone,
  kTeeth,  // i - stride, i - 2 stride, …
  kEnds,   // the last key of every block of `stride` before that of i
};

struct AttentionReach {
  AttentionReach(const AttentionMask& shown, std::int64_t queries, std::int64_t keys);

  // Keys that the queries [t, end) of a rectangle may see, its begin in whole tiles; may be empty.
  Span keys_of(std::int64_t t, std::int64_t end) const {
    if (mask.kind != AttentionPattern::kWindow && mask.kind != AttentionPattern::kLocal)
      return {0, num_keys};
    const std::int64_t last = end - 1;
    const std::int64_t after = mask.kind == AttentionPattern::kLocal ? 1 : stride;
    const std::int64_t first = std::clamp<std::int64_t>(t - stride + 1, 0, num_keys);
    return {first / kTileRows * kTileRows, std::min(num_keys, last + after)};
  }

  // Keys that are copied in all: a band has none behind the last query.
  std::int64_t num_packed() const { return is_rectangle ? num_keys : num_queries; }

  // The band of query i is [first_key(i), i]; key j is in the bands of [j, seen_until(j)).
  std::int64_t first_key(std::int64_t i) const {
    return in_blocks ? i / stride * stride : std::max<std::int64_t>(0, i - band + 1);
  }
  std::int64_t seen_until(std::int64_t j) const {
    return in_blocks ? (j / stride + 1) * stride : j + band;
  }
  // Far keys of query i.
  std::int64_t num_far(std::int64_t i) const {
    return far == FarKeys::kNone ? 0 : i / stride + 1 - first_far;
  }

  AttentionMask mask;
  std::int64_t num_queries;
  std::int64_t num_keys;
  bool is_rectangle = false;
  std::int64_t stride;
  std::int64_t band;       // keys in the band of a query, unless in_blocks
  bool in_blocks = false;  // the band begins with the block of `stride` of the query
  FarKeys far = FarKeys::kNone;
  std::int64_t first_far = 1;  // queries i >= (first_far + r) stride see far key r
  // The band is everything; afterwards scores are hidden between the teeth, but for the last
  // `shown_band` keys.
  bool hides = false;
  std::int64_t shown_band = 0;
};

// From this stride on teeth are computed one by one. Below, so many are visible that the dense
// product is faster: with T = 1024, D = 64 teeth take 1.1 x its time at a stride of 3, 0.7 x at 4.
constexpr std::int64_t kLeastToothStride = 4;

inline AttentionReach::AttentionReach(const AttentionMask& shown, std::int64_t queries,
                                      std::int64_t keys)
    : mask(shown),
      num_queries(queries),
      num_keys(keys),
      is_rectangle(is_rectangular(shown, queries, keys)),
      // Strides may be as large as they like: nothing is added to more than the tokens.
      stride(std::clamp<std::int64_t>(
          shown.stride, 1,
          std::max<std::int64_t>(is_rectangle ? std::max(queries, keys) : queries, 1))),
      band(queries + kAttentionBlock) {
  if (is_rectangle) return;
  const AttentionPattern pattern = shown.kind;
  const std::int64_t T = queries;
  const bool is_all = stride >= T, is_each = stride == 1;
  switch (pattern) {
    case AttentionPattern::kFull:
    case AttentionPattern::kWindow:
    case AttentionPattern::kCausal:
      return;
    case AttentionPattern::kLocal:
      if (!is_all) band = stride;
      return;
    case AttentionPattern::kStrided:
    case AttentionPattern::kUnion:
      if (is_each || (is_all && pattern == AttentionPattern::kUnion)) return;
      shown_band = pattern == AttentionPattern::kUnion ? stride : 0;
      hides = stride < kLeastToothStride;
      if (hides) return;
      band = shown_band;
      far = FarKeys::kTeeth;
      first_far = band > 0 ? 1 : 0;  // a band has the query itself
      return;
    case AttentionPattern::kFixed:
      if (is_each || is_all) return;
      in_blocks = true;
      far = FarKeys::kEnds;
      return;
  }
}

// Rows of a block's scores, one per key: which of its 64 queries see which row. Rows are padded to
// whole tiles by rows that no query of the sequence sees.
struct ScoreRows {
  bool is_rectangle() const { return shown >= 0; }
  // Queries that see row r, of [0, 64).
  Span queries(std::int64_t r) const {
    const std::int64_t begin = first + step * r;
    const std::int64_t end = is_far ? kAttentionBlock : reach->seen_until(key + r) - t;
    return {std::clamp<std::int64_t>(begin, 0, kAttentionBlock),
            std::clamp<std::int64_t>(end, 0, kAttentionBlock)};
  }
  // Queries that see one of the rows [r, r + 4), which begins with a tile.
  Span tile_queries(std::int64_t r) const {
    return {queries(r).begin, queries(r + kTileRows - 1).end};
  }
  // The same in whole groups: scores beyond them are neither computed nor read.
  Span tile_groups(std::int64_t r) const {
    const Span seen = tile_queries(r);
    return {seen.begin / kQueryGroup * kQueryGroup,
            (seen.end + kQueryGroup - 1) / kQueryGroup * kQueryGroup};
  }
  // Rows that all 64 queries see; they lie side by side.
  Span whole() const {
    if (is_rectangle()) return {0, shown};
    Span found{0, std::clamp<std::int64_t>(is_far ? 0 : 1 - first, 0, count)};
    while (found.begin < found.end && queries(found.begin).end < kAttentionBlock) ++found.begin;
    return found;
  }
  // Rows that one of the queries [i, i + 4) sees.
  Span rows(std::int64_t i) const {
    if (is_rectangle()) return {0, shown};
    if (is_far) return {0, std::min(count, reach->num_far(t + i + kTileRows - 1))};
    return {std::max<std::int64_t>(0, reach->first_key(t + i) - key), t + i + kTileRows - key};
  }

  const AttentionReach* reach;
  std::int64_t t;  // the first query of the block
  bool is_far;     // seen up to the last query; so are a rectangle's rows, the hidden ones as -inf
  std::int64_t key;    // of row 0
  std::int64_t count;  // of rows, a multiple of 4
  std::int64_t first;  // queries [first + step r, …) see row r
  std::int64_t step;
  std::int64_t shown = -1;  // a rectangle's rows of keys that exist: all queries take them
};

// Where a block of queries stands.
struct QueryBlock {
  QueryBlock(const AttentionReach& pattern, std::int64_t begin, std::int64_t end)
      : reach(pattern), t(begin), rows(std::min(kAttentionBlock, end - begin)) {
    if (reach.is_rectangle) {
      take_rectangle();
      return;
    }
    const std::int64_t key = reach.first_key(t) / kTileRows * kTileRows;
    const bool has_band = reach.in_blocks || reach.band > 0;
    near = {.reach = &reach,
            .t = t,
            .is_far = false,
            .key = has_band ? key : t,
            .count = has_band ? t + kAttentionBlock - key : 0,
            .first = key - t,
            .step = 1};
    const std::int64_t num_far = reach.num_far(t + rows - 1);
    far = {.reach = &reach,
           .t = t,
           .is_far = true,
           .key = 0,
           .count = (num_far + kTileRows - 1) / kTileRows * kTileRows,
           .first = reach.first_far * reach.stride - t,
           .step = reach.stride};
  }

  void take_rectangle() {
    const Span keys = reach.keys_of(t, t + rows);
    const std::int64_t shown = std::max<std::int64_t>(0, keys.end - keys.begin);
    near = far = {.reach = &reach,
                  .t = t,
                  .is_far = true,
                  .key = 0,
                  .count = 0,
                  .first = 0,
                  .step = 0,
                  .shown = 0};
    near.key = keys.begin;
    near.count = (shown + kTileRows - 1) / kTileRows * kTileRows;
    near.shown = shown;
  }

  const AttentionReach& reach;
  std::int64_t t;
  std::int64_t rows;  // those of the sequence; others are padding
  ScoreRows near;
  ScoreRows far;  // its scores lie behind those of the band
};

}  // namespace twill::cpu
