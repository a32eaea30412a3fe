// SPDX-License-Identifier: Apache-2.0
// What one thread keeps while it works on one head of attention.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "backends/cpu/attention_simd.h"

namespace twill::cpu {

struct AttentionScratch {
  AttentionScratch(std::int64_t num_tokens, std::int64_t head_dim, float* memory)
      : T(round_up(num_tokens, kAttentionBlock)), width(round_up(head_dim, kVector)) {
    const auto take = [&](std::int64_t count) {
      float* taken = memory + size;
      size += count;
      return taken;
    };
    for (float** keys : {&k, &v, &dk, &dv}) *keys = take(T * width);
    for (float** matrix : {&scores, &dp}) *matrix = take(T * kAttentionBlock);
    for (float** rows : {&q, &dout, &q_columns, &dout_columns, &result})
      *rows = take(kAttentionBlock * width);
    for (float** row_values : {&factors, &lse, &delta}) *row_values = take(kAttentionBlock);
  }

  static std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }

  static constexpr std::int64_t kVector = 16;  // the widest vector; rows are padded to it

  std::int64_t T;
  std::int64_t width;
  std::int64_t size = 0;            // floats in all
  float *k, *v, *dk, *dv;           // (T, width)
  float *scores, *dp;               // (T, block), transposed
  float *q, *dout;                  // (block, width)
  float *q_columns, *dout_columns;  // (width, block)
  float* result;                    // (block, width)
  float *factors, *lse, *delta;     // (block)
};

}  // namespace twill::cpu
