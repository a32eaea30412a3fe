// SPDX-License-Identifier: Apache-2.0
// Attention of one head on one thread.
#pragma once

#include <cstdint>

#include "ops/attention/attention_pattern.h"

namespace twill::cpu {

// Tokens of one head, from row to row `stride` elements apart.
template <class T>
struct HeadRows {
  T* data;
  std::int64_t stride;

  T* row(std::int64_t t) const { return data + t * stride; }
  // The head `heads` further, of `size` elements each.
  HeadRows further(std::int64_t heads, std::int64_t size) const {
    return {data + heads * size, stride};
  }
};

// One head. Tokens beyond num_queries and num_keys do not exist: of them nothing is read, and zeros
// are written to results up to all_queries and all_keys.
struct HeadShape {
  std::int64_t num_queries;
  std::int64_t num_keys;
  std::int64_t all_queries;
  std::int64_t all_keys;
  std::int64_t D;
  float scale;
  AttentionMask mask;
};

// Queries [begin, end) of one head, of those that exist or not; begin is a multiple of the block.
struct HeadForward {
  HeadShape shape;
  std::int64_t begin;
  std::int64_t end;
  HeadRows<const float> q;
  HeadRows<const float> k;
  HeadRows<const float> v;
  HeadRows<float> out;
  float* lse;
  float* scratch;
};
// `next`: what this thread will likely be given next, or null. A hint: its operands are asked for
// while the end of this one is computed.
void attend(const HeadForward& head, const HeadForward* next);

// One key/value head and the `group` query heads that read it. Rows are those of the first query
// head; the next one's q, dq, out and dout lie D further, its lse all_queries further.
struct HeadBackward {
  HeadShape shape;
  std::int64_t group;
  HeadRows<const float> q;
  HeadRows<const float> k;
  HeadRows<const float> v;
  HeadRows<const float> out;
  HeadRows<const float> dout;
  const float* lse;
  HeadRows<float> dq;
  HeadRows<float> dk;
  HeadRows<float> dv;
  float* scratch;
};
void attend_backward(const HeadBackward& head, const HeadBackward* next);

}  // namespace twill::cpu
