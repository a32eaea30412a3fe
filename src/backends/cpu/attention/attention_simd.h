// SPDX-License-Identifier: Apache-2.0
// Attention of one head on one thread.
#pragma once

#include <cstdint>

#include "ops/attention/attention_pattern.h"

namespace twill::cpu {

// One head: row t of q, k, v, dq, dk, dv starts at t stride, of out and dout at t out_stride.
struct HeadShape {
  std::int64_t T;
  std::int64_t D;
  std::int64_t stride;
  std::int64_t out_stride;
  float scale;
  AttentionPattern pattern;
  std::int64_t pattern_stride;
};

// Queries [begin, end) of one head; begin is a multiple of the block.
struct HeadForward {
  HeadShape shape;
  std::int64_t begin;
  std::int64_t end;
  const float* q;
  const float* k;
  const float* v;
  float* out;
  float* lse;
  float* scratch;
};
// `next`: what this thread will likely be given next, or null. A hint: its operands are asked for
// while the end of this one is computed.
void attend(const HeadForward& head, const HeadForward* next);

// One key/value head and the num_queries heads that read it. Pointers are those of the first query
// head; the next one's q, dq, out and dout lie D further, its lse T further.
struct HeadBackward {
  HeadShape shape;
  std::int64_t num_queries;
  const float* q;
  const float* k;
  const float* v;
  const float* out;
  const float* dout;
  const float* lse;
  float* dq;
  float* dk;
  float* dv;
  float* scratch;
};
void attend_backward(const HeadBackward& head, const HeadBackward* next);

}  // namespace twill::cpu
