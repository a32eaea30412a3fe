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

// Where things lie in the packed buffers. One head of one token is D neighbours.
struct Layout {
  std::int64_t B, T, H, K, D;

  template <class Args>
  explicit Layout(const Args& args)
      : B(args.qkv.shape()[0]),
        T(args.qkv.shape()[1]),
        H(args.num_heads()),
        K(args.num_kv_heads()),
        D(args.qkv.shape()[3]) {}

  std::int64_t packed(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return ((b * T + t) * (H + 2 * K) + head) * D;
  }
  std::int64_t query(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return packed(b, t, h);
  }
  std::int64_t key(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return packed(b, t, H + h / (H / K));
  }
  std::int64_t value(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return packed(b, t, H + K + h / (H / K));
  }
  std::int64_t out(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return ((b * T + t) * H + h) * D;
  }
  std::int64_t lse(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return (b * H + h) * T + t;
  }

  // body(b, h, i) for every row of scores.
  template <class Body>
  void for_each_row(const Body& body) const {
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t i = 0; i < T; ++i) body(b, h, i);
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
  const Layout at(args);
  const E* qkv = args.qkv.as<E>();
  at.for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    std::vector<double> scores;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j <= i; ++j) {
      if (!is_visible(args.pattern, args.stride, i, j)) {
        scores.push_back(-std::numeric_limits<double>::infinity());
        continue;
      }
      scores.push_back(args.scale * dot(qkv + at.query(b, i, h), qkv + at.key(b, j, h), at.D));
      largest = std::max(largest, scores.back());
    }
    double sum = 0.0;
    for (const double score : scores) sum += std::exp(score - largest);

    std::vector<double> out(static_cast<std::size_t>(at.D));
    for (std::int64_t j = 0; j <= i; ++j) {
      if (!is_visible(args.pattern, args.stride, i, j)) continue;
      const double p = std::exp(scores[static_cast<std::size_t>(j)] - largest) / sum;
      add_scaled(out.data(), p, qkv + at.value(b, j, h), at.D);
    }
    std::transform(out.begin(), out.end(), args.out.as<E>() + at.out(b, i, h),
                   [](double v) { return static_cast<E>(v); });
    args.lse.as<E>()[at.lse(b, h, i)] = static_cast<E>(largest + std::log(sum));
  });
}

template <class E>
void backward(const AttentionBackwardArgs& args) {
  const Layout at(args);
  const E* qkv = args.qkv.as<E>();
  std::vector<double> dqkv(static_cast<std::size_t>(args.dqkv.num_elements()));
  at.for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    const E* q = qkv + at.query(b, i, h);
    const E* dout = args.dout.as<E>() + at.out(b, i, h);
    const double delta = dot(dout, args.out.as<E>() + at.out(b, i, h), at.D);
    const double lse = args.lse.as<E>()[at.lse(b, h, i)];
    for (std::int64_t j = 0; j <= i; ++j) {
      if (!is_visible(args.pattern, args.stride, i, j)) continue;
      const E* k = qkv + at.key(b, j, h);
      const E* v = qkv + at.value(b, j, h);
      const double p = std::exp(args.scale * dot(q, k, at.D) - lse);
      const double ds = p * (dot(dout, v, at.D) - delta);
      add_scaled(dqkv.data() + at.query(b, i, h), args.scale * ds, k, at.D);
      add_scaled(dqkv.data() + at.key(b, j, h), args.scale * ds, q, at.D);
      add_scaled(dqkv.data() + at.value(b, j, h), p, dout, at.D);
    }
  });
  std::transform(dqkv.begin(), dqkv.end(), args.dqkv.as<E>(),
                 [](double v) { return static_cast<E>(v); });
}

}  // namespace

void attention_forward(const AttentionForwardArgs& args, const Device&, Queue&) {
  with_element_type(args.out.dtype(), [&]<class E>(E) { forward<E>(args); });
}

void attention_backward(const AttentionBackwardArgs& args, const Device&, Queue&) {
  with_element_type(args.dqkv.dtype(), [&]<class E>(E) { backward<E>(args); });
}

}  // namespace twill::reference
