// SPDX-License-Identifier: Apache-2.0
// The problem of times_packed's tests: every option of the op.
#pragma once

#include <cmath>

#include "ops/products/packed_problem.h"
#include "ops/products/times_packed.h"
#include "support/judge.h"

namespace twill {

inline constexpr Activation kPlain[] = {Activation::kGelu, Activation::kGeluTanh,
                                        Activation::kRelu2};

inline constexpr Activation kGated[] = {Activation::kSwiglu, Activation::kGeglu,
                                        Activation::kGegluTanh};

struct TimesPackedProblem {
  std::int64_t m;
  PackedOperand packed;
  Values x;
  Values bias = {}, addend = {};  // empty: absent
  GemmEpilogue epilogue = GemmEpilogue::kNone;
  Activation activation = Activation::kGelu;
  Values before = {};

  std::int64_t n() const { return packed.rows(); }
  std::int64_t k() const { return packed.cols(); }
  bool is_halved() const { return epilogue == GemmEpilogue::kActivation && is_gated(activation); }
  std::int64_t columns_of_c() const { return is_halved() ? n() / 2 : n(); }

  Outputs run(const Setup& setup) const { return run(setup, PackedOn(setup, packed)); }
  Outputs run(const Setup& setup, const PackedOn& packed_in) const {
    const bool is_forward = epilogue == GemmEpilogue::kActivation;
    const Buffer x_in = setup.buffer(x), c = setup.buffer(rubbish(m * columns_of_c()));
    const Buffer bias_in = setup.buffer(bias), addend_in = setup.buffer(addend);
    const Buffer before_in = setup.buffer(is_forward ? rubbish(m * n()) : before);
    times_packed(*setup.context(), {.x = x_in.view({m, k()}),
                                    .packed = packed_in.matrix(),
                                    .c = c.view({m, columns_of_c()}),
                                    .bias = optional_view(bias_in, {n()}),
                                    .addend = optional_view(addend_in, {m, n()}),
                                    .epilogue = epilogue,
                                    .activation = activation,
                                    .before = optional_view(before_in, {m, n()})});
    if (is_forward) return {{"before", before_in.values()}, {"c", c.values()}};
    return {{"c", c.values()}};
  }

  PackedSum sum(std::int64_t i, std::int64_t j) const {
    PackedSum sum;
    for (std::int64_t l = 0; l < k(); ++l)
      if (packed.is_kept(j, l)) sum.add_kept(x[index(i * k() + l)] * packed.dense[packed.at(j, l)]);
    if (!bias.empty()) sum.add(bias[index(j)]);
    if (!addend.empty()) sum.add(addend[index(i * n() + j)]);
    return sum;
  }

  // Scales are what the header allows as error, in eps. Behind an activation f: the error of the
  // sum times |f'|, and that of f or f' itself. Both f' and the terms it is computed from are below
  // 2 (1 + |x|); sixteen roundings are what activation_test.cpp allows: 4, 4 for the approximation
  // of erf or tanh, and twice the four of a naive f. A gated one has the error of its value, times
  // |f| <= |gate|, beside the error of f times the value.
  template <class N>
  Naive<N> naive() const {
    std::vector<N> sums, behind;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n(); ++j) {
        const PackedSum one = sum(i, j);
        const double at =
            epilogue == GemmEpilogue::kActivationGradient ? before[index(i * n() + j)] : one.value;
        sums.push_back(N(one.value, one.error()));
        behind.push_back(
            N(0.0, 2.0 * (1.0 + std::abs(at)) * (one.error() + 16.0 * std::abs(one.value))));
      }
    }
    if (is_halved()) return {sums, behind_gates<N>()};
    if (epilogue == GemmEpilogue::kNone) return {sums};
    if (epilogue == GemmEpilogue::kActivation) return {sums, behind};
    return {behind};
  }

  template <class N>
  std::vector<N> behind_gates() const {
    std::vector<N> behind;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n() / 2; ++j) {
        const PackedSum value = sum(i, j), gate = sum(i, n() / 2 + j);
        const double size = std::abs(gate.value);
        const double error_of_f = 2.0 * (1.0 + size) * (gate.error() + 16.0 * size);
        behind.push_back(N(0.0, size * value.error() + std::abs(value.value) * error_of_f));
      }
    return behind;
  }

  // Below the normal range every rounding may cost half a step.
  ErrorModel model() const {
    return {.terms = 1.0, .eps_out = 0.0, .floor = static_cast<double>(k() + 3) * 0x1p-149};
  }
};

// Bits of `options`: bias, addend; then the epilogue and its activation, a plain one where a gated one
// is not possible. A small product may be all
// zeros, which proves nothing: it has an addend, positive in front for relu2.
inline TimesPackedProblem random_problem(Random& random, std::int64_t m,
                                         const PackedOperand& packed, int options) {
  TimesPackedProblem problem{.m = m, .packed = packed, .x = random.normal(m * packed.cols())};
  const std::int64_t count = m * problem.n();
  const bool is_small = count < 64 || packed.kept() < 64;
  if ((options & 1) != 0) problem.bias = random.normal(problem.n());
  if ((options & 2) != 0 || is_small) problem.addend = random.normal(count);
  problem.epilogue = static_cast<GemmEpilogue>(options / 4 % 3);
  problem.activation = options / 36 % 2 == 0 ? kPlain[options / 12 % 3] : kGated[options / 12 % 3];
  if (is_gated(problem.activation) && (!problem.is_halved() || problem.n() % 2 != 0))
    problem.activation = kPlain[options / 12 % 3];
  if (problem.epilogue == GemmEpilogue::kActivationGradient) problem.before = random.normal(count);
  if (is_small && !problem.addend.empty()) problem.addend[0] = 100.0;
  if (!problem.before.empty()) problem.before[0] = 1.5;
  return problem;
}
inline constexpr int kNumOptions = 72, kNumPlainOptions = 36;

inline testing::AssertionResult check_one(const Setup& setup, const TimesPackedProblem& problem) {
  return judge(setup, problem, problem.model()) << fmt::format(
             " for (m, n, k) = ({}, {}, {}), {} kept, transposable {}, epilogue {} with {}",
             problem.m, problem.n(), problem.k(), problem.packed.kept(),
             problem.packed.shape.pattern == PackedPattern::kTransposable24,
             static_cast<int>(problem.epilogue), static_cast<int>(problem.activation));
}

}  // namespace twill
