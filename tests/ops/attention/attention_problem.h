// SPDX-License-Identifier: Apache-2.0
// Attention as the tests pose it: shapes, data, a run through the front door, a naive computation.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ops/attention/attention.h"
#include "ops/transfer.h"
#include "support/judge.h"
#include "tensor/tensor.h"

namespace twill {

struct AttentionShape {
  std::int64_t B, T, H, K, D;

  Shape qkv() const { return {B, T, H + 2 * K, D}; }
  Shape out() const { return {B, T, H, D}; }
  Shape lse() const { return {B, H, T}; }

  std::int64_t q_at(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return ((b * T + t) * (H + 2 * K) + h) * D;
  }
  std::int64_t k_at(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return q_at(b, t, H + h / (H / K));
  }
  std::int64_t v_at(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return q_at(b, t, H + K + h / (H / K));
  }
  std::int64_t out_at(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return ((b * T + t) * H + h) * D;
  }
  std::int64_t lse_at(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return (b * H + h) * T + t;
  }
};

template <class N>
N naive_dot(const double* x, const double* y, std::int64_t count) {
  N sum{};
  for (std::int64_t d = 0; d < count; ++d) sum += N(x[d]) * N(y[d]);
  return sum;
}

// Workspace full of NaN: its contents are undefined, so nobody may count on zeros.
inline Tensor poisoned_workspace(const Context& context, const AttentionForwardArgs& args) {
  Tensor workspace(DType::kU8, {attention_workspace_bytes(context, args)}, context.memory());
  const View bytes = workspace.view();
  const std::vector<std::byte> poison(static_cast<std::size_t>(bytes.num_bytes()), std::byte{0xff});
  copy_in(context, bytes, poison.data());
  return workspace;
}

struct AttentionForwardProblem {
  AttentionShape shape;
  double scale;
  Values qkv;
  AttentionPattern pattern = AttentionPattern::kCausal;
  std::int64_t stride = 1;

  Outputs run(const Setup& setup) const {
    const auto opened = setup.context();
    const Context& context = *opened;
    const Buffer qkv_in = setup.buffer(qkv);
    const Buffer out = setup.buffer(rubbish(shape.out().num_elements()));
    const Buffer lse = setup.wide(rubbish(shape.lse().num_elements()));
    const auto [q, k, v] = split_qkv(qkv_in.view(shape.qkv()), shape.H);
    AttentionForwardArgs args{.q = q,
                              .k = k,
                              .v = v,
                              .out = out.view(shape.out()),
                              .lse = lse.view(shape.lse()),
                              .scale = scale,
                              .mask = {pattern, stride}};
    Tensor workspace = poisoned_workspace(context, args);
    args.workspace = workspace.view();
    attention_forward(context, args);
    return {{"out", out.values(), out.dtype()}, {"lse", lse.values()}};
  }

  template <class N>
  void naive_row(std::int64_t b, std::int64_t h, std::int64_t i, Naive<N>& result) const {
    using std::exp, std::log;
    std::vector<std::int64_t> keys;
    for (std::int64_t j = 0; j <= i; ++j)
      if (is_visible(pattern, stride, i, j)) keys.push_back(j);
    std::vector<N> scores;
    for (const std::int64_t j : keys)
      scores.push_back(N(scale) * naive_dot<N>(qkv.data() + shape.q_at(b, i, h),
                                               qkv.data() + shape.k_at(b, j, h), shape.D));
    const N largest = *std::max_element(scores.begin(), scores.end());
    N sum{};
    for (const N& score : scores) sum += exp(score - largest);
    for (std::int64_t d = 0; d < shape.D; ++d) {
      N out{};
      for (std::size_t k = 0; k < keys.size(); ++k)
        out += exp(scores[k] - largest) / sum * N(qkv[shape.v_at(b, keys[k], h) + d]);
      result[0][shape.out_at(b, i, h) + d] = out;
    }
    result[1][shape.lse_at(b, h, i)] = largest + log(sum);
  }

  template <class N>
  Naive<N> naive() const {
    Naive<N> result{std::vector<N>(shape.out().num_elements()),
                    std::vector<N>(shape.lse().num_elements())};
    for (std::int64_t b = 0; b < shape.B; ++b)
      for (std::int64_t h = 0; h < shape.H; ++h)
        for (std::int64_t i = 0; i < shape.T; ++i) naive_row(b, h, i, result);
    return result;
  }
};

struct AttentionBackwardProblem {
  AttentionShape shape;
  double scale;
  Values qkv, out, lse, dout;
  AttentionPattern pattern = AttentionPattern::kCausal;
  std::int64_t stride = 1;

  Outputs run(const Setup& setup) const {
    const auto opened = setup.context();
    const Context& context = *opened;
    const Buffer qkv_in = setup.buffer(qkv), out_in = setup.buffer(out);
    const Buffer lse_in = setup.wide(lse), dout_in = setup.buffer(dout);
    const Buffer dqkv = setup.buffer(rubbish(shape.qkv().num_elements()));
    const auto [q, k, v] = split_qkv(qkv_in.view(shape.qkv()), shape.H);
    const auto [dq, dk, dv] = split_qkv(dqkv.view(shape.qkv()), shape.H);
    const AttentionForwardArgs forward{.q = q,
                                       .k = k,
                                       .v = v,
                                       .out = out_in.view(shape.out()),
                                       .lse = lse_in.view(shape.lse()),
                                       .scale = scale};
    Tensor workspace = poisoned_workspace(context, forward);
    attention_backward(context, {.q = q,
                                 .k = k,
                                 .v = v,
                                 .out = forward.out,
                                 .lse = forward.lse,
                                 .dout = dout_in.view(shape.out()),
                                 .dq = dq,
                                 .dk = dk,
                                 .dv = dv,
                                 .workspace = workspace.view(),
                                 .scale = scale,
                                 .mask = {pattern, stride}});
    return {{"dqkv", dqkv.values(), dqkv.dtype()}};
  }

  template <class N>
  void naive_row(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<N>& dqkv) const {
    using std::exp;
    const std::int64_t D = shape.D, q = shape.q_at(b, i, h), o = shape.out_at(b, i, h);
    const N delta = naive_dot<N>(dout.data() + o, out.data() + o, D);
    for (std::int64_t j = 0; j <= i; ++j) {
      if (!is_visible(pattern, stride, i, j)) continue;
      const std::int64_t k = shape.k_at(b, j, h), v = shape.v_at(b, j, h);
      const N score = N(scale) * naive_dot<N>(qkv.data() + q, qkv.data() + k, D);
      const N p = exp(score - N(lse[shape.lse_at(b, h, i)]));
      const N ds = p * (naive_dot<N>(dout.data() + o, qkv.data() + v, D) - delta);
      for (std::int64_t d = 0; d < D; ++d) {
        dqkv[q + d] += N(scale) * ds * N(qkv[k + d]);
        dqkv[k + d] += N(scale) * ds * N(qkv[q + d]);
        dqkv[v + d] += p * N(dout[o + d]);
      }
    }
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> dqkv(qkv.size());
    for (std::int64_t b = 0; b < shape.B; ++b)
      for (std::int64_t h = 0; h < shape.H; ++h)
        for (std::int64_t i = 0; i < shape.T; ++i) naive_row(b, h, i, dqkv);
    return {dqkv};
  }
};

// exp, the quotient of the softmax and the product with v. The roundings of the scores are in the
// scale that exp passes on.
// bf16: p and ds, and what the backward pass reads (out) are rounded.
constexpr TwoOracleRule kAttentionRule{.floor = 3.0, .bf16_terms = 4.0};

inline AttentionForwardProblem random_forward(Random& random, const AttentionShape& shape,
                                              double spread = 1.0) {
  return {shape, 1.0 / std::sqrt(static_cast<double>(shape.D)),
          random.normal(shape.qkv().num_elements(), spread)};
}

// out and lse as the forward pass keeps them: rounded to f32.
inline AttentionBackwardProblem random_backward(Random& random,
                                                const AttentionForwardProblem& forward) {
  const Outputs kept = forward.run(exact_oracle());
  return {forward.shape,   forward.scale,  forward.qkv,
          kept[0].values,  kept[1].values, random.normal(forward.shape.out().num_elements()),
          forward.pattern, forward.stride};
}

inline std::string describe(const AttentionShape& shape) {
  return fmt::format(" for B {}, T {}, H {}, K {}, D {}", shape.B, shape.T, shape.H, shape.K,
                     shape.D);
}

struct PatternCase {
  AttentionPattern pattern;
  std::int64_t stride;
};

inline AttentionForwardProblem with_pattern(AttentionForwardProblem forward,
                                            const PatternCase& shown) {
  forward.pattern = shown.pattern;
  forward.stride = shown.stride;
  return forward;
}

inline std::string describe(const PatternCase& shown) {
  return fmt::format(" with pattern {}, stride {}", static_cast<int>(shown.pattern), shown.stride);
}

}  // namespace twill
