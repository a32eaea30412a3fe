// SPDX-License-Identifier: Apache-2.0
// One head of attention. Scores are kept transposed, (keys, 64 queries): softmax then runs down the
// columns without a horizontal sum, and every product reads its operands in the order of memory.
//
// Operands are copied into scratch first, with T padded to 64 and D to 16 by zeros: a padded key is
// seen by padded queries only, and those are not written back. Of a band, scores are computed for
// four keys and groups of 16 queries where one pair is visible; the other two products take four
// queries with the keys that one of them sees, or four keys with the queries that see one. Of a
// rectangle (attention_reach.h) all pairs are computed, and keys are copied before the first block.
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
void pack_keys(const HeadShape& shape, Span keys, const HeadRows<const float>& from,
               const AttentionScratch& s, const KeyRows& to) {
  const std::int64_t padded = AttentionScratch::round_up(keys.end, kBlock) - keys.begin;
  pack_rows(from.row(keys.begin), from.stride, keys.end - keys.begin, shape.D,
            to.all + keys.begin * s.width, padded, s.width);
}

// The ends of blocks before token `end`.
void pack_ends(const HeadShape& shape, const AttentionReach& reach, std::int64_t end,
               const HeadRows<const float>& from, const AttentionScratch& s, const KeyRows& to) {
  if (reach.far != FarKeys::kEnds) return;
  const std::int64_t count = end / reach.stride;
  pack_rows(from.row(reach.stride - 1), reach.stride * from.stride, count, shape.D, to.ends,
            AttentionScratch::round_up(count, kTileRows), s.width);
}

// Where the dense product was cheaper, and in a rectangle: scores of hidden pairs become -inf.
void hide(const QueryBlock& block, float* scores) {
  const ScoreBlock all{.t = block.t,
                       .first_key = block.near.key,
                       .num_keys = block.near.count,
                       .width = kBlock,
                       .scores = scores};
  if (block.reach.is_rectangle)
    return hide_unseen(block.reach.mask, block.near.key + block.near.shown, all);
  if (block.reach.hides) hide_between_teeth(block.reach.stride, block.reach.shown_band, all);
}

// Zeros in the rows [begin, end) of a result.
void clear_rows(const HeadRows<float>& to, std::int64_t begin, std::int64_t end, std::int64_t D) {
  for (std::int64_t t = begin; t < end; ++t) std::fill_n(to.row(t), D, 0.0f);
}

// Queries that exist of a task's.
std::int64_t end_of(const HeadForward& head) { return std::min(head.end, head.shape.num_queries); }

// What the block at t of a head reads.
void fetch_block(const HeadForward& head, std::int64_t t, RowsAhead& ahead) {
  const HeadShape& shape = head.shape;
  const std::int64_t rows = std::min(kBlock, end_of(head) - t);
  if (!is_rectangular(shape.mask, shape.num_queries, shape.num_keys))
    for (const HeadRows<const float>& from : {head.k, head.v})
      ahead.add(from.row(t), from.stride, rows);
  ahead.add(head.q.row(t), head.q.stride, rows);
}

// Queries of a rectangle that see no key have no softmax.
void clear_unseeing(const HeadForward& head, const QueryBlock& block) {
  if (!block.reach.is_rectangle) return;
  for (std::int64_t i = block.t; i < block.t + block.rows; ++i) {
    if (sees_any(block.reach.mask, i, block.reach.num_keys)) continue;
    clear_rows(head.out, i, i + 1, head.shape.D);
    head.lse[i] = 0.0f;
  }
}

void forward_block(const HeadForward& head, const QueryBlock& block, const AttentionScratch& s,
                   RowsAhead& ahead) {
  const HeadShape& shape = head.shape;
  if (!block.reach.is_rectangle) {
    const Span tokens{block.t, block.t + block.rows};
    pack_keys(shape, tokens, head.k, s, s.k);
    pack_keys(shape, tokens, head.v, s, s.v);
  }
  pack_rows(head.q.row(block.t), head.q.stride, block.rows, shape.D, s.q, kBlock, s.width);
  transpose_block(s.q, s.width, shape.scale, s.q_columns);
  score(block, s.k, {s.q, s.q_columns, shape.scale}, s.width, s.scores, ahead);
  hide(block, s.scores);
  softmax_columns(block, s.scores, far_of(block, s.scores), head.lse + block.t, s.factors);
  mix(block, s.scores, s.v, s.width, s.result, ahead);
  write_rows(s.result, s.width, block.rows, s.factors, head.out.row(block.t), head.out.stride,
             shape.D);
  clear_unseeing(head, block);
}

// Keys that are copied before the first of the queries [begin, end): those before it, which the
// blocks bring no more; of a rectangle all that they see.
Span keys_before(const AttentionReach& reach, std::int64_t begin, std::int64_t end) {
  if (!reach.is_rectangle)
    return {reach.far == FarKeys::kTeeth ? 0 : reach.first_key(begin) / kTileRows * kTileRows,
            begin};
  const Span keys = reach.keys_of(begin, end);
  return {keys.begin, std::max(keys.begin, keys.end)};
}

void attend_impl(const HeadForward& head, const HeadForward* next) {
  const HeadShape& shape = head.shape;
  const std::int64_t head_end = end_of(head);
  const std::int64_t missing = std::max(head.begin, head_end);
  clear_rows(head.out, missing, head.end, shape.D);
  std::fill(head.lse + missing, head.lse + head.end, 0.0f);
  if (head.begin >= head_end) return;
  const AttentionReach reach(shape.mask, shape.num_queries, shape.num_keys);
  const AttentionScratch s(reach.num_packed(), shape.D, head.scratch);
  const Span past = keys_before(reach, head.begin, head_end);
  pack_keys(shape, past, head.k, s, s.k);
  pack_keys(shape, past, head.v, s, s.v);
  pack_ends(shape, reach, head_end, head.k, s, s.k);
  pack_ends(shape, reach, head_end, head.v, s, s.v);
  for (std::int64_t t = head.begin; t < head_end; t += kBlock) {
    const QueryBlock block(reach, t, head_end);
    RowsAhead ahead(shape.D);
    ahead.add(head.out.row(t), head.out.stride, block.rows);
    if (t + kBlock < head_end)
      fetch_block(head, t + kBlock, ahead);
    else if (next != nullptr)
      fetch_block(*next, next->begin, ahead);
    forward_block(head, block, s, ahead);
  }
}

// lse[i] and dout[i]·out[i], zeros for padded rows.
void prepare_rows(const HeadShape& shape, const QueryBlock& block, const float* lse,
                  const HeadRows<const float>& out, const AttentionScratch& s) {
  for (std::int64_t row = 0; row < kBlock; ++row) {
    const bool is_real = row < block.rows;
    const float* a = s.dout + row * s.width;
    const float* b = out.row(block.t + row);
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
  const std::int64_t rows = std::min(kBlock, shape.num_queries - t);
  for (const HeadRows<const float>& from : {head.q, head.dout, head.out})
    ahead.add(from.further(h, shape.D).row(t), from.stride, rows);
  if (h > 0) return;
  const std::int64_t keys = std::min(rows, shape.num_keys - t);
  ahead.add(head.k.row(t), head.k.stride, keys);
  ahead.add(head.v.row(t), head.v.stride, keys);
}

// What is written, and what is read next, while the block at t of query head h is computed.
RowsAhead rows_after(const HeadBackward& head, const HeadBackward* next, std::int64_t h,
                     std::int64_t t) {
  const HeadShape& shape = head.shape;
  const std::int64_t rows = std::min(kBlock, shape.num_queries - t);
  RowsAhead ahead(shape.D);
  ahead.add(head.dq.further(h, shape.D).row(t), head.dq.stride, rows);
  if (t + kBlock < shape.num_queries)
    fetch_block(head, h, t + kBlock, ahead);
  else if (h + 1 < head.group)
    fetch_block(head, h + 1, 0, ahead);
  else if (next != nullptr)
    fetch_block(*next, 0, 0, ahead);
  if (h + 1 < head.group) return ahead;
  const std::int64_t keys = std::min(rows, shape.num_keys - t);
  ahead.add(head.dk.row(t), head.dk.stride, keys);
  ahead.add(head.dv.row(t), head.dv.stride, keys);
  return ahead;
}

// One block of queries of query head `h`: writes dq, adds to s.dk and s.dv.
void backward_block(const HeadBackward& head, const QueryBlock& block, std::int64_t h,
                    const AttentionScratch& s, RowsAhead& ahead) {
  const HeadShape& shape = head.shape;
  const std::int64_t t = block.t;
  const HeadRows<const float> q = head.q.further(h, shape.D), dout = head.dout.further(h, shape.D);
  if (h == 0 && !block.reach.is_rectangle) {
    pack_keys(shape, {t, t + block.rows}, head.k, s, s.k);
    pack_keys(shape, {t, t + block.rows}, head.v, s, s.v);
  }
  pack_rows(q.row(t), q.stride, block.rows, shape.D, s.q, kBlock, s.width);
  pack_rows(dout.row(t), dout.stride, block.rows, shape.D, s.dout, kBlock, s.width);
  prepare_rows(shape, block, head.lse + h * shape.all_queries + t, head.out.further(h, shape.D), s);

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
  const HeadRows<float> dq = head.dq.further(h, shape.D);
  write_rows(s.result, s.width, block.rows, s.factors, dq.row(t), dq.stride, shape.D);
}

// The rows of `ends` are added to those of the keys they were gathered from.
void return_ends(const AttentionReach& reach, const AttentionScratch& s, const KeyRows& keys) {
  if (reach.far != FarKeys::kEnds) return;
  for (std::int64_t row = 0; row < s.num_tokens / reach.stride; ++row) {
    float* to = keys.all + ((row + 1) * reach.stride - 1) * s.width;
    for (std::int64_t i = 0; i < s.width; ++i) to[i] += keys.ends[row * s.width + i];
  }
}

// to (num_tokens, D) = factor from (num_tokens, width), zeros for the keys behind them.
void write_gradient(const HeadShape& shape, const AttentionScratch& s, const float* from,
                    float factor, const HeadRows<float>& to) {
  std::fill_n(s.factors, kBlock, factor);
  for (std::int64_t t = 0; t < s.num_tokens; t += kBlock)
    write_rows(from + t * s.width, s.width, std::min(kBlock, s.num_tokens - t), s.factors,
               to.row(t), to.stride, shape.D);
  clear_rows(to, s.num_tokens, shape.all_keys, shape.D);
}

void attend_backward_impl(const HeadBackward& head, const HeadBackward* next) {
  const HeadShape& shape = head.shape;
  const std::int64_t num_queries = shape.num_queries;
  const AttentionReach reach(shape.mask, num_queries, shape.num_keys);
  const AttentionScratch s(reach.num_packed(), shape.D, head.scratch);
  for (std::int64_t h = 0; h < head.group; ++h)
    clear_rows(head.dq.further(h, shape.D), num_queries, shape.all_queries, shape.D);
  if (reach.is_rectangle) {
    pack_keys(shape, {0, shape.num_keys}, head.k, s, s.k);
    pack_keys(shape, {0, shape.num_keys}, head.v, s, s.v);
  }
  pack_ends(shape, reach, num_queries, head.k, s, s.k);
  pack_ends(shape, reach, num_queries, head.v, s, s.v);
  for (const KeyRows& gradient : {s.dk, s.dv}) {
    std::fill_n(gradient.all, s.T * s.width, 0.0f);
    if (reach.far == FarKeys::kEnds) std::fill_n(gradient.ends, s.max_ends * s.width, 0.0f);
  }
  for (std::int64_t h = 0; h < head.group; ++h)
    for (std::int64_t t = 0; t < num_queries; t += kBlock) {
      RowsAhead ahead = rows_after(head, next, h, t);
      backward_block(head, QueryBlock(reach, t, num_queries), h, s, ahead);
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
