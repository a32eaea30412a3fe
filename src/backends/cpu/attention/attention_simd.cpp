// SPDX-License-Identifier: Apache-2.0
// One head of attention. Scores are kept transposed, (keys, 64 queries): softmax then runs down the
// columns without a horizontal sum, and every product reads its operands in the order of memory.
//
// Operands are copied into scratch first, with T padded to 64 and D to 16 by zeros: a padded key is
// seen by padded queries only, and those are not written back. Of a band, scores are computed for
// four keys and groups of 16 queries where one pair is visible; the other two products take four
// queries with the keys that one of them sees, or four keys with the queries that see one.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/attention_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "backends/cpu/attention/attention_ahead.h"
#include "backends/cpu/attention/attention_hide.h"
#include "backends/cpu/attention/attention_pack-inl.h"
#include "backends/cpu/attention/attention_product-inl.h"
#include "backends/cpu/attention/attention_reach.h"
#include "backends/cpu/attention/attention_scratch.h"
#include "backends/cpu/attention/attention_simd.h"
#include "backends/cpu/attention/attention_softmax-inl.h"
#include "backends/cpu/attention/attention_teeth-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

// Keys of b that stay in the first-level cache: 16 KB at D = 64.
constexpr std::int64_t kKeyStep = 64;

// scores (rows, 64) = keys (rows, width) columns (width, 64).
void score(const ScoreRows& rows, const float* keys, std::int64_t width, const float* columns,
           float* scores, RowsAhead& ahead) {
  const Product p{.a = keys,
                  .a_row = width,
                  .a_k = 1,
                  .b = columns,
                  .b_row = kBlock,
                  .c = scores,
                  .c_row = kBlock};
  for (std::int64_t r = 0; r < rows.count; r += kTileRows) {
    ahead.step();
    product_rows(p, r, rows.tile_groups(r), {0, width}, false);
  }
}

// to (64, width) += scoresᵀ values (rows, width).
void mix(const ScoreRows& rows, const float* scores, const float* values, std::int64_t width,
         bool accumulate, float* to, RowsAhead& ahead) {
  const Product p{
      .a = scores, .a_row = 1, .a_k = kBlock, .b = values, .b_row = width, .c = to, .c_row = width};
  for (std::int64_t step = 0; step < rows.count; step += kKeyStep)
    for (std::int64_t i = 0; i < kBlock; i += kTileRows) {
      const Span seen = rows.rows(i);
      const Span now{std::max(step, seen.begin), std::min(step + kKeyStep, seen.end)};
      ahead.step();
      if (now.begin < now.end)
        product_rows(p, i, {0, width}, now, accumulate || now.begin > seen.begin);
    }
}

// to (rows, width) += scores from (64, width).
void spread(const ScoreRows& rows, const float* scores, const float* from, std::int64_t width,
            float* to, RowsAhead& ahead) {
  const Product p{
      .a = scores, .a_row = kBlock, .a_k = 1, .b = from, .b_row = width, .c = to, .c_row = width};
  for (std::int64_t r = 0; r < rows.count; r += kTileRows) {
    ahead.step();
    product_rows(p, r, {0, width}, rows.tile_queries(r), true);
  }
}

// Scores of far keys lie behind those of the band.
float* far_of(const QueryBlock& block, float* scores) { return scores + block.near.count * kBlock; }

// The three products over all that the block sees.
void score(const QueryBlock& block, const KeyRows& keys, const QueryRows& queries,
           std::int64_t width, float* scores, RowsAhead& ahead) {
  score(block.near, keys.all + block.near.key * width, width, queries.columns, scores, ahead);
  float* far = far_of(block, scores);
  if (block.reach.far == FarKeys::kEnds)
    score(block.far, keys.ends, width, queries.columns, far, ahead);
  if (block.reach.far == FarKeys::kTeeth)
    score_teeth(block, keys.all, queries.rows, width, queries.scale, far, ahead);
}

void mix(const QueryBlock& block, float* scores, const KeyRows& values, std::int64_t width,
         float* to, RowsAhead& ahead) {
  if (block.near.count == 0) std::fill_n(to, kBlock * width, 0.0f);
  mix(block.near, scores, values.all + block.near.key * width, width, false, to, ahead);
  const float* far = far_of(block, scores);
  if (block.reach.far == FarKeys::kEnds) mix(block.far, far, values.ends, width, true, to, ahead);
  if (block.reach.far == FarKeys::kTeeth) mix_teeth(block, far, values.all, width, to);
}

void spread(const QueryBlock& block, float* scores, const float* from, std::int64_t width,
            const KeyRows& to, RowsAhead& ahead) {
  spread(block.near, scores, from, width, to.all + block.near.key * width, ahead);
  const float* far = far_of(block, scores);
  if (block.reach.far == FarKeys::kEnds) spread(block.far, far, from, width, to.ends, ahead);
  if (block.reach.far == FarKeys::kTeeth) spread_teeth(block, far, from, width, to.all);
}

// Keys [keys.begin, keys.end), padded to whole blocks.
void pack_keys(const HeadShape& shape, Span keys, const float* from, const AttentionScratch& s,
               const KeyRows& to) {
  const std::int64_t padded = AttentionScratch::round_up(keys.end, kBlock) - keys.begin;
  pack_rows(from + keys.begin * shape.stride, shape.stride, keys.end - keys.begin, shape.D,
            to.all + keys.begin * s.width, padded, s.width);
}

// The ends of blocks before token `end`.
void pack_ends(const HeadShape& shape, const AttentionReach& reach, std::int64_t end,
               const float* from, const AttentionScratch& s, const KeyRows& to) {
  if (reach.far != FarKeys::kEnds) return;
  const std::int64_t count = end / reach.stride;
  pack_rows(from + (reach.stride - 1) * shape.stride, reach.stride * shape.stride, count, shape.D,
            to.ends, AttentionScratch::round_up(count, kTileRows), s.width);
}

// Where the dense product was cheaper: scores of hidden pairs become -inf.
void hide(const QueryBlock& block, float* scores) {
  if (!block.reach.hides) return;
  hide_between_teeth(
      block.reach.stride, block.reach.shown_band,
      {.t = block.t, .num_keys = block.near.count, .width = kBlock, .scores = scores});
}

// What the block at t of a head reads.
void fetch_block(const HeadForward& head, std::int64_t t, RowsAhead& ahead) {
  const HeadShape& shape = head.shape;
  const std::int64_t rows = std::min(kBlock, head.end - t);
  for (const float* from : {head.k, head.v, head.q})
    ahead.add(from + t * shape.stride, shape.stride, rows);
}

void forward_block(const HeadForward& head, const QueryBlock& block, const AttentionScratch& s,
                   RowsAhead& ahead) {
  const HeadShape& shape = head.shape;
  const Span tokens{block.t, block.t + block.rows};
  pack_keys(shape, tokens, head.k, s, s.k);
  pack_keys(shape, tokens, head.v, s, s.v);
  pack_rows(head.q + block.t * shape.stride, shape.stride, block.rows, shape.D, s.q, kBlock,
            s.width);
  transpose_block(s.q, s.width, shape.scale, s.q_columns);
  score(block, s.k, {s.q, s.q_columns, shape.scale}, s.width, s.scores, ahead);
  hide(block, s.scores);
  softmax_columns(block, s.scores, far_of(block, s.scores), head.lse + block.t, s.factors);
  mix(block, s.scores, s.v, s.width, s.result, ahead);
  write_rows(s.result, s.width, block.rows, s.factors, head.out + block.t * shape.out_stride,
             shape.out_stride, shape.D);
}

void attend_impl(const HeadForward& head, const HeadForward* next) {
  const HeadShape& shape = head.shape;
  const AttentionReach reach(shape.pattern, shape.pattern_stride, shape.T);
  const AttentionScratch s(shape.T, shape.D, head.scratch);
  // Keys before the first block; those of a block come with it.
  const Span past{
      reach.far == FarKeys::kTeeth ? 0 : reach.first_key(head.begin) / kTileRows * kTileRows,
      head.begin};
  pack_keys(shape, past, head.k, s, s.k);
  pack_keys(shape, past, head.v, s, s.v);
  pack_ends(shape, reach, head.end, head.k, s, s.k);
  pack_ends(shape, reach, head.end, head.v, s, s.v);
  for (std::int64_t t = head.begin; t < head.end; t += kBlock) {
    const QueryBlock block(reach, t, head.end);
    RowsAhead ahead(shape.D);
    ahead.add(head.out + t * shape.out_stride, shape.out_stride, block.rows);
    if (t + kBlock < head.end)
      fetch_block(head, t + kBlock, ahead);
    else if (next != nullptr)
      fetch_block(*next, next->begin, ahead);
    forward_block(head, block, s, ahead);
  }
}

// lse[i] and dout[i]·out[i], zeros for padded rows.
void prepare_rows(const HeadShape& shape, const QueryBlock& block, const float* lse,
                  const float* out, const AttentionScratch& s) {
  for (std::int64_t row = 0; row < kBlock; ++row) {
    const bool is_real = row < block.rows;
    const float* a = s.dout + row * s.width;
    const float* b = out + row * shape.out_stride;
    s.lse[row] = is_real ? lse[row] : 0.0f;
    s.delta[row] = is_real ? sum_over(shape.D,
                                      [&](std::int64_t i, std::int64_t count) HWY_ATTR {
                                        return hn::Mul(load(a + i, count), load(b + i, count));
                                      })
                           : 0.0f;
  }
}

// What the block at t of query head h reads; keys and values come with the first head.
void fetch_block(const HeadBackward& head, std::int64_t h, std::int64_t t, RowsAhead& ahead) {
  const HeadShape& shape = head.shape;
  const std::int64_t rows = std::min(kBlock, shape.T - t);
  const std::int64_t out_at = t * shape.out_stride + h * shape.D;
  ahead.add(head.q + t * shape.stride + h * shape.D, shape.stride, rows);
  ahead.add(head.dout + out_at, shape.out_stride, rows);
  ahead.add(head.out + out_at, shape.out_stride, rows);
  if (h > 0) return;
  ahead.add(head.k + t * shape.stride, shape.stride, rows);
  ahead.add(head.v + t * shape.stride, shape.stride, rows);
}

// What is written, and what is read next, while the block at t of query head h is computed.
RowsAhead rows_after(const HeadBackward& head, const HeadBackward* next, std::int64_t h,
                     std::int64_t t) {
  const HeadShape& shape = head.shape;
  const std::int64_t rows = std::min(kBlock, shape.T - t), at = t * shape.stride;
  RowsAhead ahead(shape.D);
  ahead.add(head.dq + at + h * shape.D, shape.stride, rows);
  if (t + kBlock < shape.T)
    fetch_block(head, h, t + kBlock, ahead);
  else if (h + 1 < head.num_queries)
    fetch_block(head, h + 1, 0, ahead);
  else if (next != nullptr)
    fetch_block(*next, 0, 0, ahead);
  if (h + 1 < head.num_queries) return ahead;
  ahead.add(head.dk + at, shape.stride, rows);
  ahead.add(head.dv + at, shape.stride, rows);
  return ahead;
}

// One block of queries of query head `h`: writes dq, adds to s.dk and s.dv.
void backward_block(const HeadBackward& head, const QueryBlock& block, std::int64_t h,
                    const AttentionScratch& s, RowsAhead& ahead) {
  const HeadShape& shape = head.shape;
  const std::int64_t t = block.t, at = t * shape.stride + h * shape.D;
  const std::int64_t out_at = t * shape.out_stride + h * shape.D;
  if (h == 0) {
    pack_keys(shape, {t, t + block.rows}, head.k, s, s.k);
    pack_keys(shape, {t, t + block.rows}, head.v, s, s.v);
  }
  pack_rows(head.q + at, shape.stride, block.rows, shape.D, s.q, kBlock, s.width);
  pack_rows(head.dout + out_at, shape.out_stride, block.rows, shape.D, s.dout, kBlock, s.width);
  prepare_rows(shape, block, head.lse + h * shape.T + t, head.out + out_at, s);

  transpose_block(s.q, s.width, shape.scale, s.q_columns);
  score(block, s.k, {s.q, s.q_columns, shape.scale}, s.width, s.scores, ahead);
  hide(block, s.scores);
  transpose_block(s.dout, s.width, 1.0f, s.dout_columns);
  score(block, s.v, {s.dout, s.dout_columns, 1.0f}, s.width, s.dp, ahead);
  softmax_backward_columns(block.near, s.lse, s.delta, s.scores, s.dp);
  softmax_backward_columns(block.far, s.lse, s.delta, far_of(block, s.scores), far_of(block, s.dp));

  spread(block, s.scores, s.dout, s.width, s.dv, ahead);
  spread(block, s.dp, s.q, s.width, s.dk, ahead);
  mix(block, s.dp, s.k, s.width, s.result, ahead);
  std::fill_n(s.factors, kBlock, shape.scale);
  write_rows(s.result, s.width, block.rows, s.factors, head.dq + at, shape.stride, shape.D);
}

// The rows of `ends` are added to those of the keys they were gathered from.
void return_ends(const AttentionReach& reach, const AttentionScratch& s, const KeyRows& keys) {
  if (reach.far != FarKeys::kEnds) return;
  for (std::int64_t row = 0; row < s.num_tokens / reach.stride; ++row) {
    float* to = keys.all + ((row + 1) * reach.stride - 1) * s.width;
    for (std::int64_t i = 0; i < s.width; ++i) to[i] += keys.ends[row * s.width + i];
  }
}

// to (T, D) = factor from (T, width).
void write_gradient(const HeadShape& shape, const AttentionScratch& s, const float* from,
                    float factor, float* to) {
  std::fill_n(s.factors, kBlock, factor);
  for (std::int64_t t = 0; t < shape.T; t += kBlock)
    write_rows(from + t * s.width, s.width, std::min(kBlock, shape.T - t), s.factors,
               to + t * shape.stride, shape.stride, shape.D);
}

void attend_backward_impl(const HeadBackward& head, const HeadBackward* next) {
  const HeadShape& shape = head.shape;
  const AttentionReach reach(shape.pattern, shape.pattern_stride, shape.T);
  const AttentionScratch s(shape.T, shape.D, head.scratch);
  pack_ends(shape, reach, shape.T, head.k, s, s.k);
  pack_ends(shape, reach, shape.T, head.v, s, s.v);
  for (const KeyRows& gradient : {s.dk, s.dv}) {
    std::fill_n(gradient.all, s.T * s.width, 0.0f);
    if (reach.far == FarKeys::kEnds) std::fill_n(gradient.ends, s.max_ends * s.width, 0.0f);
  }
  for (std::int64_t h = 0; h < head.num_queries; ++h)
    for (std::int64_t t = 0; t < shape.T; t += kBlock) {
      RowsAhead ahead = rows_after(head, next, h, t);
      backward_block(head, QueryBlock(reach, t, shape.T), h, s, ahead);
    }
  for (const KeyRows& gradient : {s.dk, s.dv}) return_ends(reach, s, gradient);
  write_gradient(shape, s, s.dk.all, shape.scale, head.dk);
  write_gradient(shape, s, s.dv.all, 1.0f, head.dv);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(attend_impl);
HWY_EXPORT(attend_backward_impl);

void attend(const HeadForward& head, const HeadForward* next) {
  HWY_DYNAMIC_DISPATCH(attend_impl)(head, next);
}
void attend_backward(const HeadBackward& head, const HeadBackward* next) {
  HWY_DYNAMIC_DISPATCH(attend_backward_impl)(head, next);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
