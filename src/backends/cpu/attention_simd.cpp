// SPDX-License-Identifier: Apache-2.0
// One head of causal attention. Scores are kept transposed, (keys, 64 queries): softmax then runs
// down the columns without a horizontal sum, and every product reads its operands in the order of
// memory.
//
// Operands are copied into scratch first, with T padded to 64 and D to 16 by zeros: a padded key is
// seen by padded queries only, and those are not written back. Masking works on groups of 16
// queries: scores of a key beyond the last query of a group are neither computed nor read.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/attention_hide.h"
#include "backends/cpu/attention_pack-inl.h"
#include "backends/cpu/attention_product-inl.h"
#include "backends/cpu/attention_scratch.h"
#include "backends/cpu/attention_simd.h"
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGroup = 16;  // queries; a multiple of every vector and of kTileRows
constexpr std::int64_t kKeyStep =
    64;  // keys of b that stay in the first-level cache: 16 KB at D = 64
constexpr int kColumns = static_cast<int>(kBlock / lanes());

// Where a block of queries stands: it begins at query t, and sees keys [0, num_keys).
struct Block {
  Block(std::int64_t begin, std::int64_t end)
      : t(begin), rows(std::min(kBlock, end - begin)), num_keys(begin + kBlock) {}

  // The first query, a multiple of 16, that can see key j.
  std::int64_t first_query(std::int64_t j) const { return j < t ? 0 : (j - t) / kGroup * kGroup; }

  std::int64_t t;
  std::int64_t rows;
  std::int64_t num_keys;
};

// scores (keys, 64) = keys (keys, width) columns (width, 64).
void score(const Block& block, const float* keys, std::int64_t width, const float* columns,
           float* scores) {
  const Product p{.a = keys,
                  .a_row = width,
                  .a_k = 1,
                  .b = columns,
                  .b_row = kBlock,
                  .c = scores,
                  .c_row = kBlock};
  for (std::int64_t j = 0; j < block.num_keys; j += kTileRows)
    product_rows(p, j, {block.first_query(j), kBlock}, {0, width}, false);
}

// Scores of the pairs that the pattern hides become -inf.
void hide(const HeadShape& shape, const Block& block, float* scores) {
  if (shape.pattern == AttentionPattern::kCausal) return;
  hide_pairs(shape.pattern, shape.pattern_stride,
             {.t = block.t, .num_keys = block.num_keys, .width = kBlock, .scores = scores});
}

// to (64, width) = scoresᵀ values (keys, width).
void mix(const Block& block, const float* scores, const float* values, std::int64_t width,
         float* to) {
  const Product p{
      .a = scores, .a_row = 1, .a_k = kBlock, .b = values, .b_row = width, .c = to, .c_row = width};
  for (std::int64_t key = 0; key < block.num_keys; key += kKeyStep)
    for (std::int64_t i = 0; i < kBlock; i += kTileRows) {
      const std::int64_t end = std::min(key + kKeyStep, block.t + i + kTileRows);
      product_rows(p, i, {0, width}, {key, end}, key > 0);
    }
}

// to (keys, width) += scores rows (64, width).
void spread(const Block& block, const float* scores, const float* rows, std::int64_t width,
            float* to) {
  const Product p{
      .a = scores, .a_row = kBlock, .a_k = 1, .b = rows, .b_row = width, .c = to, .c_row = width};
  for (std::int64_t j = 0; j < block.num_keys; j += kTileRows)
    product_rows(p, j, {0, width}, {block.first_query(j), kBlock}, true);
}

// Which of the queries [column, column + lanes) see key j >= block.t.
HWY_INLINE auto sees(const Block& block, std::int64_t column, std::int64_t j) {
  return hn::Ge(hn::Iota(F32(), static_cast<float>(column)), set(static_cast<float>(j - block.t)));
}

// The largest visible score of every query.
HWY_INLINE void column_maxima(const Block& block, const float* scores, VF (&maxima)[kColumns]) {
  constexpr std::int64_t N = lanes();
  const VF lowest = set(-std::numeric_limits<float>::infinity());
  for (int c = 0; c < kColumns; ++c) maxima[c] = lowest;
  for (std::int64_t j = 0; j < block.t; ++j) {
    HWY_UNROLL(4)
    for (int c = 0; c < kColumns; ++c)
      maxima[c] = hn::Max(maxima[c], hn::LoadU(F32(), scores + j * kBlock + c * N));
  }
  for (std::int64_t j = block.t; j < block.num_keys; ++j)
    for (std::int64_t q = block.first_query(j); q < kBlock; q += N) {
      const VF s = hn::LoadU(F32(), scores + j * kBlock + q);
      maxima[q / N] = hn::Max(maxima[q / N], hn::IfThenElse(sees(block, q, j), s, lowest));
    }
}

// scores -> exp(score - maximum), 0 where masked; the sum of every query.
HWY_INLINE void exp_columns(const Block& block, float* scores, const VF (&maxima)[kColumns],
                            VF (&sums)[kColumns]) {
  constexpr std::int64_t N = lanes();
  for (int c = 0; c < kColumns; ++c) sums[c] = zero();
  for (std::int64_t j = 0; j < block.t; ++j) {
    HWY_UNROLL(4)
    for (int c = 0; c < kColumns; ++c) {
      float* at = scores + j * kBlock + c * N;
      const VF e = exp_negative(hn::Sub(hn::LoadU(F32(), at), maxima[c]));
      hn::StoreU(e, F32(), at);
      sums[c] = hn::Add(sums[c], e);
    }
  }
  for (std::int64_t j = block.t; j < block.num_keys; ++j)
    for (std::int64_t q = block.first_query(j); q < kBlock; q += N) {
      float* at = scores + j * kBlock + q;
      const VF e = hn::IfThenElseZero(sees(block, q, j),
                                      exp_negative(hn::Sub(hn::LoadU(F32(), at), maxima[q / N])));
      hn::StoreU(e, F32(), at);
      sums[q / N] = hn::Add(sums[q / N], e);
    }
}

// Softmax without its division: lse of the block's rows, and 1 / sum of each.
void softmax_columns(const Block& block, float* scores, float* lse, float* inverse_sums) {
  VF maxima[kColumns], sums[kColumns];
  column_maxima(block, scores, maxima);
  exp_columns(block, scores, maxima, sums);
  HWY_ALIGN float max[kBlock], sum[kBlock];
  for (int c = 0; c < kColumns; ++c) {
    hn::Store(maxima[c], F32(), max + c * lanes());
    hn::Store(sums[c], F32(), sum + c * lanes());
  }
  for (std::int64_t i = 0; i < block.rows; ++i) {
    lse[i] = static_cast<float>(max[i] + std::log(static_cast<double>(sum[i])));
    inverse_sums[i] = 1.0f / sum[i];
  }
}

void attend_impl(const HeadForward& head) {
  const HeadShape& shape = head.shape;
  const AttentionScratch s(shape.T, shape.D, head.scratch);
  const std::int64_t num_keys = AttentionScratch::round_up(head.end, kBlock);
  pack_rows(head.k, shape.stride, head.end, shape.D, s.k, num_keys, s.width);
  pack_rows(head.v, shape.stride, head.end, shape.D, s.v, num_keys, s.width);
  for (std::int64_t t = head.begin; t < head.end; t += kBlock) {
    const Block block(t, head.end);
    pack_rows(head.q + t * shape.stride, shape.stride, block.rows, shape.D, s.q, kBlock, s.width);
    transpose_block(s.q, s.width, shape.scale, s.q_columns);
    score(block, s.k, s.width, s.q_columns, s.scores);
    hide(shape, block, s.scores);
    softmax_columns(block, s.scores, head.lse + t, s.factors);
    mix(block, s.scores, s.v, s.width, s.result);
    write_rows(s.result, s.width, block.rows, s.factors, head.out + t * shape.out_stride,
               shape.out_stride, shape.D);
  }
}

// lse[i] and dout[i]·out[i], zeros for padded rows.
void prepare_rows(const HeadShape& shape, const Block& block, const float* lse, const float* out,
                  const AttentionScratch& s) {
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

// scores -> p = exp(score - lse), dp -> p (dp - delta); both 0 where masked.
void softmax_backward_columns(const Block& block, const AttentionScratch& s) {
  constexpr std::int64_t N = lanes();
  for (std::int64_t j = 0; j < block.num_keys; ++j)
    for (std::int64_t q = block.first_query(j); q < kBlock; q += N) {
      float* score_at = s.scores + j * kBlock + q;
      float* dp_at = s.dp + j * kBlock + q;
      VF p = exp_negative(hn::Sub(hn::LoadU(F32(), score_at), hn::LoadU(F32(), s.lse + q)));
      if (j >= block.t) p = hn::IfThenElseZero(sees(block, q, j), p);
      const VF centred = hn::Sub(hn::LoadU(F32(), dp_at), hn::LoadU(F32(), s.delta + q));
      hn::StoreU(p, F32(), score_at);
      hn::StoreU(hn::Mul(p, centred), F32(), dp_at);
    }
}

// One block of queries of query head `h`: writes dq, adds to s.dk and s.dv.
void backward_block(const HeadBackward& head, std::int64_t h, std::int64_t t,
                    const AttentionScratch& s) {
  const HeadShape& shape = head.shape;
  const Block block(t, shape.T);
  const std::int64_t at = t * shape.stride + h * shape.D;
  const std::int64_t out_at = t * shape.out_stride + h * shape.D;
  pack_rows(head.q + at, shape.stride, block.rows, shape.D, s.q, kBlock, s.width);
  pack_rows(head.dout + out_at, shape.out_stride, block.rows, shape.D, s.dout, kBlock, s.width);
  prepare_rows(shape, block, head.lse + h * shape.T + t, head.out + out_at, s);

  transpose_block(s.q, s.width, shape.scale, s.q_columns);
  score(block, s.k, s.width, s.q_columns, s.scores);
  hide(shape, block, s.scores);
  transpose_block(s.dout, s.width, 1.0f, s.dout_columns);
  score(block, s.v, s.width, s.dout_columns, s.dp);
  softmax_backward_columns(block, s);

  spread(block, s.scores, s.dout, s.width, s.dv);
  spread(block, s.dp, s.q, s.width, s.dk);
  mix(block, s.dp, s.k, s.width, s.result);
  std::fill_n(s.factors, kBlock, shape.scale);
  write_rows(s.result, s.width, block.rows, s.factors, head.dq + at, shape.stride, shape.D);
}

// to (T, D) = factor from (T, width).
void write_gradient(const HeadShape& shape, const AttentionScratch& s, const float* from,
                    float factor, float* to) {
  std::fill_n(s.factors, kBlock, factor);
  for (std::int64_t t = 0; t < shape.T; t += kBlock)
    write_rows(from + t * s.width, s.width, std::min(kBlock, shape.T - t), s.factors,
               to + t * shape.stride, shape.stride, shape.D);
}

void attend_backward_impl(const HeadBackward& head) {
  const HeadShape& shape = head.shape;
  const AttentionScratch s(shape.T, shape.D, head.scratch);
  pack_rows(head.k, shape.stride, shape.T, shape.D, s.k, s.T, s.width);
  pack_rows(head.v, shape.stride, shape.T, shape.D, s.v, s.T, s.width);
  std::fill_n(s.dk, s.T * s.width, 0.0f);
  std::fill_n(s.dv, s.T * s.width, 0.0f);
  for (std::int64_t h = 0; h < head.num_queries; ++h)
    for (std::int64_t t = 0; t < shape.T; t += kBlock) backward_block(head, h, t, s);
  write_gradient(shape, s, s.dk, shape.scale, head.dk);
  write_gradient(shape, s, s.dv, 1.0f, head.dv);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(attend_impl);
HWY_EXPORT(attend_backward_impl);

void attend(const HeadForward& head) { HWY_DYNAMIC_DISPATCH(attend_impl)(head); }
void attend_backward(const HeadBackward& head) { HWY_DYNAMIC_DISPATCH(attend_backward_impl)(head); }

}  // namespace twill::cpu
#endif  // HWY_ONCE
