// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

// Tokens of sequence b that exist, of `all`.
std::int64_t length_of(const ConstView& lengths, std::int64_t b, std::int64_t all) {
  return lengths ? std::clamp<std::int64_t>(lengths.as<std::int32_t>()[b], 0, all) : all;
}

// Which rows of scores there are, and what they read.
template <class Args>
struct Rows {
  const Args& args;
  AttentionExtents is{args};

  std::int64_t kv_head(std::int64_t h) const { return h / (is.H / is.K); }
  std::int64_t query(std::int64_t b, std::int64_t i, std::int64_t h) const {
    return args.q.at(b, i, h);
  }
  std::int64_t key(std::int64_t b, std::int64_t j, std::int64_t h) const {
    return args.k.at(b, j, kv_head(h));
  }
  std::int64_t value(std::int64_t b, std::int64_t j, std::int64_t h) const {
    return args.v.at(b, j, kv_head(h));
  }
  std::int64_t out(std::int64_t b, std::int64_t i, std::int64_t h) const {
    return ((b * is.T + i) * is.H + h) * is.D;
  }
  std::int64_t lse(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return (b * is.H + h) * is.T + i;
  }

  std::vector<std::int64_t> visible_keys(std::int64_t b, std::int64_t i) const {
    std::vector<std::int64_t> keys;
    if (i >= length_of(args.query_lengths, b, is.T)) return keys;
    const std::int64_t num_keys = length_of(args.key_lengths, b, is.S);
    for (std::int64_t j = 0; j < num_keys; ++j)
      if (is_visible(args.mask, i, j)) keys.push_back(j);
    return keys;
  }

  // body(b, h, i, keys) for every row of scores; keys may be empty.
  template <class Body>
  void for_each_row(const Body& body) const {
    for (std::int64_t b = 0; b < is.B; ++b)
      for (std::int64_t h = 0; h < is.H; ++h)
        for (std::int64_t i = 0; i < is.T; ++i) body(b, h, i, visible_keys(b, i));
  }
};

template <class E>
double dot(const E* x, const E* y, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t d = 0; d < count; ++d) sum += double{x[d]} * double{y[d]};
  return sum;
}

// sum += factor x
template <class E>
void add_scaled(double* sum, double factor, const E* x, std::int64_t count) {
  for (std::int64_t d = 0; d < count; ++d) sum[d] += factor * x[d];
}

template <class E>
void forward(const AttentionForwardArgs& args) {
  const Rows<AttentionForwardArgs> at{args};
  const E *q = args.q.as<E>(), *k = args.k.as<E>(), *v = args.v.as<E>();
  const std::int64_t D = at.is.D;
  at.for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t i, const auto& keys) {
    std::vector<double> scores;
    double largest = -std::numeric_limits<double>::infinity();
    for (const std::int64_t j : keys) {
      scores.push_back(args.scale * dot(q + at.query(b, i, h), k + at.key(b, j, h), D));
      largest = std::max(largest, scores.back());
    }
    double sum = 0.0;
    for (const double score : scores) sum += std::exp(score - largest);

    std::vector<double> out(static_cast<std::size_t>(D));
    for (std::size_t n = 0; n < keys.size(); ++n) {
      const double p = std::exp(scores[n] - largest) / sum;
      add_scaled(out.data(), p, v + at.value(b, keys[n], h), D);
    }
    std::transform(out.begin(), out.end(), args.out.as<E>() + at.out(b, i, h),
                   [](double value) { return static_cast<E>(value); });
    args.lse.as<E>()[at.lse(b, h, i)] =
        keys.empty() ? E{0} : static_cast<E>(largest + std::log(sum));
  });
}

// A gradient summed in f64, in its view's layout without what lies between the rows.
class Sums {
 public:
  explicit Sums(const HeadsView& to)
      : to_(to),
        row_(to.shape()[2] * to.shape()[3]),
        sums_(static_cast<std::size_t>(to.num_elements())) {}

  double* at(std::int64_t b, std::int64_t t, std::int64_t h) {
    return sums_.data() + (b * to_.shape()[1] + t) * row_ + h * to_.shape()[3];
  }
  template <class E>
  void write() const {
    for (std::int64_t token = 0; token < to_.shape()[0] * to_.shape()[1]; ++token)
      std::transform(sums_.begin() + token * row_, sums_.begin() + (token + 1) * row_,
                     to_.as<E>() + token * to_.row_stride(),
                     [](double value) { return static_cast<E>(value); });
  }

 private:
  HeadsView to_;
  std::int64_t row_;
  std::vector<double> sums_;
};

template <class E>
void backward(const AttentionBackwardArgs& args) {
  const Rows<AttentionBackwardArgs> at{args};
  const std::int64_t D = at.is.D;
  Sums dq(args.dq), dk(args.dk), dv(args.dv);
  at.for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t i, const auto& keys) {
    if (keys.empty()) return;
    const E* q = args.q.as<E>() + at.query(b, i, h);
    const E* dout = args.dout.as<E>() + at.out(b, i, h);
    const double delta = dot(dout, args.out.as<E>() + at.out(b, i, h), D);
    const double lse = args.lse.as<E>()[at.lse(b, h, i)];
    for (const std::int64_t j : keys) {
      const E* k = args.k.as<E>() + at.key(b, j, h);
      const E* v = args.v.as<E>() + at.value(b, j, h);
      const double p = std::exp(args.scale * dot(q, k, D) - lse);
      const double ds = p * (dot(dout, v, D) - delta);
      add_scaled(dq.at(b, i, h), args.scale * ds, k, D);
      add_scaled(dk.at(b, j, at.kv_head(h)), args.scale * ds, q, D);
      add_scaled(dv.at(b, j, at.kv_head(h)), p, dout, D);
    }
  });
  dq.write<E>();
  dk.write<E>();
  dv.write<E>();
}

}  // namespace

void attention_forward(const AttentionForwardArgs& args, const Device&, Queue&) {
  with_element_type(args.out.dtype(), [&]<class E>(E) { forward<E>(args); });
}

void attention_backward(const AttentionBackwardArgs& args, const Device&, Queue&) {
  with_element_type(args.out.dtype(), [&]<class E>(E) { backward<E>(args); });
}

}  // namespace twill::reference
