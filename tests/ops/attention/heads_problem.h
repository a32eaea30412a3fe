// SPDX-License-Identifier: Apache-2.0
// Attention as its most general call poses it: q, k and v in buffers of their own, with gaps between
// their rows; another number of keys than of queries; lengths. What no result may know is NaN: gaps,
// and tokens that do not exist.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/attention/attention_problem.h"

namespace twill {

struct HeadsShape {
  std::int64_t B, T, S, H, K, D;

  Shape q() const { return {B, T, H, D}; }
  Shape kv() const { return {B, S, K, D}; }
  Shape lse() const { return {B, H, T}; }
  std::int64_t q_at(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return ((b * T + t) * H + h) * D;
  }
  // Of the key/value head that query head h reads.
  std::int64_t kv_at(std::int64_t b, std::int64_t s, std::int64_t h) const {
    return ((b * S + s) * K + h / (H / K)) * D;
  }
  std::int64_t lse_at(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return (b * H + h) * T + t;
  }
};

// What a call sees: nothing in `queries` or `keys` is no lengths at all.
struct Seen {
  AttentionMask mask = {};
  Values keys = {}, queries = {};

  static std::int64_t length(const Values& lengths, std::int64_t b, std::int64_t all) {
    if (lengths.empty()) return all;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(lengths[b]), 0, all);
  }
  std::vector<std::int64_t> keys_of(const HeadsShape& shape, std::int64_t b, std::int64_t i) const {
    std::vector<std::int64_t> seen;
    if (i >= length(queries, b, shape.T)) return seen;
    for (std::int64_t j = 0; j < length(keys, b, shape.S); ++j)
      if (is_visible(mask, i, j)) seen.push_back(j);
    return seen;
  }
};

// One operand in memory: rows with `gap` more elements behind each. Gaps, and tokens from the length
// of their sequence on, hold NaN.
class StridedHeads {
 public:
  StridedHeads(const Setup& setup, const Values& values, const Shape& shape, std::int64_t gap,
               const Values& lengths = {})
      : shape_(shape),
        stride_(shape[2] * shape[3] + gap),
        buffer_(setup.buffer(spread(values, lengths))) {}

  HeadsView view() const {
    const View all = buffer_.view({shape_[0] * shape_[1] * stride_});
    return {all.bytes(), buffer_.dtype(), shape_, stride_};
  }
  // Its rows; what lies between them must still be NaN.
  Values values() const {
    const Values all = buffer_.values();
    Values rows;
    for (std::size_t at = 0; at < all.size(); ++at) {
      const bool is_gap = static_cast<std::int64_t>(at) % stride_ >= shape_[2] * shape_[3];
      if (!is_gap) {
        rows.push_back(all[at]);
        continue;
      }
      EXPECT_TRUE(std::isnan(all[at])) << "written between rows";
    }
    return rows;
  }
  DType dtype() const { return buffer_.dtype(); }

 private:
  Values spread(const Values& values, const Values& lengths) const {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const std::int64_t row = shape_[2] * shape_[3], time = shape_[1];
    Values all(static_cast<std::size_t>(shape_[0] * time * stride_), kNan);
    for (std::int64_t token = 0; token < shape_[0] * time; ++token)
      if (token % time < Seen::length(lengths, token / time, time))
        std::copy_n(values.begin() + token * row, row, all.begin() + token * stride_);
    return all;
  }

  Shape shape_;
  std::int64_t stride_;
  Buffer buffer_;
};

// Numbers of elements between rows of q, k and v; multiples of 8 leave 16-byte accesses their lines.
struct Gaps {
  std::int64_t q = 0, k = 0, v = 0;
};

struct HeadsOperands {
  HeadsShape shape;
  Seen seen;
  Gaps gaps;
  Values q, k, v;
  double scale = 0.4;

  Buffer lengths(const Setup& setup, const Values& of) const {
    return setup.buffer(of.empty() ? Values(1) : of, DType::kI32);
  }
  ConstView lengths_view(const Buffer& buffer, const Values& of) const {
    return of.empty() ? ConstView() : ConstView(buffer.view({shape.B}));
  }
};

struct HeadsForward : HeadsOperands {
  Outputs run(const Setup& setup) const {
    const auto context = setup.context();
    const StridedHeads q_in(setup, q, shape.q(), gaps.q, seen.queries);
    const StridedHeads k_in(setup, k, shape.kv(), gaps.k, seen.keys);
    const StridedHeads v_in(setup, v, shape.kv(), gaps.v, seen.keys);
    const Buffer out = setup.buffer(rubbish(shape.q().num_elements()));
    const Buffer lse = setup.wide(rubbish(shape.lse().num_elements()));
    const Buffer keys = lengths(setup, seen.keys), queries = lengths(setup, seen.queries);
    AttentionForwardArgs args{.q = q_in.view(),
                              .k = k_in.view(),
                              .v = v_in.view(),
                              .out = out.view(shape.q()),
                              .lse = lse.view(shape.lse()),
                              .scale = scale,
                              .mask = seen.mask,
                              .key_lengths = lengths_view(keys, seen.keys),
                              .query_lengths = lengths_view(queries, seen.queries)};
    Tensor workspace = poisoned_workspace(*context, args);
    args.workspace = workspace.view();
    attention_forward(*context, args);
    return {{"out", out.values(), out.dtype()}, {"lse", lse.values()}};
  }

  template <class N>
  void naive_row(std::int64_t b, std::int64_t h, std::int64_t i, Naive<N>& result) const {
    using std::exp, std::log;
    const std::vector<std::int64_t> keys = seen.keys_of(shape, b, i);
    if (keys.empty()) return;
    std::vector<N> scores;
    for (const std::int64_t j : keys)
      scores.push_back(N(scale) * naive_dot<N>(q.data() + shape.q_at(b, i, h),
                                               k.data() + shape.kv_at(b, j, h), shape.D));
    const N largest = *std::max_element(scores.begin(), scores.end());
    N sum{};
    for (const N& score : scores) sum += exp(score - largest);
    for (std::int64_t d = 0; d < shape.D; ++d) {
      N out{};
      for (std::size_t n = 0; n < keys.size(); ++n)
        out += exp(scores[n] - largest) / sum * N(v[shape.kv_at(b, keys[n], h) + d]);
      result[0][shape.q_at(b, i, h) + d] = out;
    }
    result[1][shape.lse_at(b, h, i)] = largest + log(sum);
  }

  template <class N>
  Naive<N> naive() const {
    Naive<N> result{std::vector<N>(shape.q().num_elements()),
                    std::vector<N>(shape.lse().num_elements())};
    for (std::int64_t b = 0; b < shape.B; ++b)
      for (std::int64_t h = 0; h < shape.H; ++h)
        for (std::int64_t i = 0; i < shape.T; ++i) naive_row(b, h, i, result);
    return result;
  }
};

struct HeadsBackward : HeadsOperands {
  Values out, lse, dout;

  Outputs run(const Setup& setup) const {
    const auto context = setup.context();
    const StridedHeads q_in(setup, q, shape.q(), gaps.q, seen.queries);
    const StridedHeads k_in(setup, k, shape.kv(), gaps.k, seen.keys);
    const StridedHeads v_in(setup, v, shape.kv(), gaps.v, seen.keys);
    const StridedHeads out_in(setup, out, shape.q(), 0);
    const StridedHeads dout_in(setup, dout, shape.q(), 0, seen.queries);
    const Buffer lse_in = setup.wide(lse);
    const StridedHeads dq(setup, rubbish(shape.q().num_elements()), shape.q(), gaps.k);
    const StridedHeads dk(setup, rubbish(shape.kv().num_elements()), shape.kv(), gaps.v);
    const StridedHeads dv(setup, rubbish(shape.kv().num_elements()), shape.kv(), gaps.q);
    const Buffer keys = lengths(setup, seen.keys), queries = lengths(setup, seen.queries);
    const auto contiguous = [](const StridedHeads& heads) {
      return ConstView(heads.view().bytes(), heads.dtype(), heads.view().shape());
    };
    AttentionBackwardArgs args{.q = q_in.view(),
                               .k = k_in.view(),
                               .v = v_in.view(),
                               .out = contiguous(out_in),
                               .lse = lse_in.view(shape.lse()),
                               .dout = contiguous(dout_in),
                               .dq = dq.view(),
                               .dk = dk.view(),
                               .dv = dv.view(),
                               .scale = scale,
                               .mask = seen.mask,
                               .key_lengths = lengths_view(keys, seen.keys),
                               .query_lengths = lengths_view(queries, seen.queries)};
    Tensor workspace =
        poisoned_workspace(*context, {.q = args.q, .k = args.k, .v = args.v, .out = {}, .lse = {}});
    args.workspace = workspace.view();
    attention_backward(*context, args);
    return {{"dq", dq.values(), dq.dtype()},
            {"dk", dk.values(), dk.dtype()},
            {"dv", dv.values(), dv.dtype()}};
  }

  template <class N>
  void naive_row(std::int64_t b, std::int64_t h, std::int64_t i, Naive<N>& result) const {
    using std::exp;
    const std::int64_t D = shape.D, at = shape.q_at(b, i, h);
    const N delta = naive_dot<N>(dout.data() + at, out.data() + at, D);
    for (const std::int64_t j : seen.keys_of(shape, b, i)) {
      const std::int64_t key = shape.kv_at(b, j, h);
      const N score = N(scale) * naive_dot<N>(q.data() + at, k.data() + key, D);
      const N p = exp(score - N(lse[shape.lse_at(b, h, i)]));
      const N ds = p * (naive_dot<N>(dout.data() + at, v.data() + key, D) - delta);
      for (std::int64_t d = 0; d < D; ++d) {
        result[0][at + d] += N(scale) * ds * N(k[key + d]);
        result[1][key + d] += N(scale) * ds * N(q[at + d]);
        result[2][key + d] += p * N(dout[at + d]);
      }
    }
  }

  template <class N>
  Naive<N> naive() const {
    Naive<N> result{std::vector<N>(q.size()), std::vector<N>(k.size()), std::vector<N>(v.size())};
    for (std::int64_t b = 0; b < shape.B; ++b)
      for (std::int64_t h = 0; h < shape.H; ++h)
        for (std::int64_t i = 0; i < shape.T; ++i) naive_row(b, h, i, result);
    return result;
  }
};

template <class N>
std::vector<N> joined(const std::vector<N>& a, const std::vector<N>& b, const std::vector<N>& c) {
  std::vector<N> all(a);
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// The three gradients as one: a query that sees one key has dq = dk = 0, and a judge wants something.
struct JoinedBackward {
  HeadsBackward problem;

  Outputs run(const Setup& setup) const {
    const Outputs got = problem.run(setup);
    return {{"dq, dk, dv", joined(got[0].values, got[1].values, got[2].values), got[0].dtype}};
  }
  template <class N>
  Naive<N> naive() const {
    const Naive<N> result = problem.naive<N>();
    return {joined(result[0], result[1], result[2])};
  }
};

inline HeadsForward random_heads(Random& random, const HeadsShape& shape, const Seen& seen,
                                 const Gaps& gaps = {}) {
  HeadsForward problem;
  problem.shape = shape;
  problem.seen = seen;
  problem.gaps = gaps;
  problem.q = random.normal(shape.q().num_elements());
  problem.k = random.normal(shape.kv().num_elements());
  problem.v = random.normal(shape.kv().num_elements());
  return problem;
}

// out and lse as the forward pass keeps them.
inline HeadsBackward gradient_of(Random& random, const HeadsForward& forward, const Setup& setup) {
  HeadsBackward problem;
  static_cast<HeadsOperands&>(problem) = forward;
  const Outputs kept = forward.run(setup);
  problem.out = kept[0].values;
  problem.lse = kept[1].values;
  problem.dout = random.normal(forward.shape.q().num_elements());
  return problem;
}

inline std::string describe(const HeadsOperands& problem) {
  const HeadsShape& s = problem.shape;
  return fmt::format(
      " for B {}, T {}, S {}, H {}, K {}, D {}, kind {} of {}, keys [{}], queries [{}]", s.B, s.T,
      s.S, s.H, s.K, s.D, static_cast<int>(problem.seen.mask.kind), problem.seen.mask.stride,
      fmt::join(problem.seen.keys, " "), fmt::join(problem.seen.queries, " "));
}

}  // namespace twill
