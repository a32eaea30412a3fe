// SPDX-License-Identifier: Apache-2.0
// What one thread keeps while it works on one head of attention.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "backends/cpu/attention/attention_reach.h"

namespace twill::cpu {

// Keys, values or their gradients: of all tokens, and of the ends of blocks once more, gathered.
struct KeyRows {
  float* all;
  float* ends;
};

// Queries or gradients of the output of one block, as rows, and as columns times `scale`.
struct QueryRows {
  const float* rows;
  const float* columns;
  float scale;
};

struct AttentionScratch {
  AttentionScratch(std::int64_t tokens, std::int64_t head_dim, float* memory)
      : num_tokens(tokens),
        T(round_up(tokens, kAttentionBlock)),
        width(round_up(head_dim, kVector)),
        max_ends(T / 2) {
    const auto take = [&](std::int64_t count) {
      float* taken = memory + size;
      size += count;
      return taken;
    };
    for (KeyRows* keys : {&k, &v, &dk, &dv})
      *keys = {.all = take(T * width), .ends = take(max_ends * width)};
    for (float** matrix : {&scores, &dp}) *matrix = take((T + kFarSlack) * kAttentionBlock);
    for (float** rows : {&q, &dout, &q_columns, &dout_columns, &result})
      *rows = take(kAttentionBlock * width);
    for (float** row_values : {&factors, &lse, &delta}) *row_values = take(kAttentionBlock);
  }

  static std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }

  static constexpr std::int64_t kVector = 16;  // the widest vector; rows are padded to it
  // A band of `stride` keys and T / stride far ones are T + 1 at most, for any stride; a block adds
  // its own 64 queries to the band, and both are padded to whole tiles.
  static constexpr std::int64_t kFarSlack = 2 * kAttentionBlock;

  std::int64_t num_tokens;
  std::int64_t T;  // padded to whole blocks
  std::int64_t width;
  std::int64_t max_ends;            // blocks of one token are plain causal attention
  std::int64_t size = 0;            // floats in all
  KeyRows k, v, dk, dv;             // (T, width), (max_ends, width)
  float *scores, *dp;               // (T + slack, block), transposed
  float *q, *dout;                  // (block, width)
  float *q_columns, *dout_columns;  // (width, block)
  float* result;                    // (block, width)
  float *factors, *lse, *delta;     // (block)
};

}  // namespace twill::cpu
