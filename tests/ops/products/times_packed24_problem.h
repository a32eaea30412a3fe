// SPDX-License-Identifier: Apache-2.0
// times_packed with a packed 2:4 matrix in bf16, judged by the reference's gemm of what it unpacks to.
#pragma once

#include <cmath>
#include <vector>

#include "ops/layers/activation.h"
#include "ops/products/gemm.h"
#include "ops/products/packed24_problem.h"
#include "ops/products/times_packed.h"
#include "support/judge.h"

namespace twill {

struct Sums {
  Values values, sizes;  // Σ terms and Σ |terms|
};

// a (m, k) times b (k, n), or (n, k) with trans_b, in f64.
inline Sums reference_sums(Values a, Values b, const Shape& a_shape, const Shape& b_shape,
                           bool trans_b) {
  const Setup f64 = oracle();
  const Shape shape{a_shape[0], trans_b ? b_shape[0] : b_shape[1]};
  const auto product = [&] {
    const Buffer a_in = f64.buffer(a), b_in = f64.buffer(b);
    const Buffer c = f64.buffer(rubbish(shape.num_elements()));
    gemm(
        *f64.context(),
        {.a = a_in.view(a_shape), .b = b_in.view(b_shape), .c = c.view(shape), .trans_b = trans_b});
    return c.values();
  };
  Sums sums{.values = product(), .sizes = {}};
  for (Values* operand : {&a, &b})
    for (double& value : *operand) value = std::abs(value);
  sums.sizes = product();
  return sums;
}

// Rows `picked` of a matrix, or every row; nothing of an absent one.
inline Values rows_of(const Values& matrix, std::int64_t cols,
                      const std::vector<std::int64_t>& picked) {
  if (picked.empty() || matrix.empty()) return matrix;
  Values rows;
  for (const std::int64_t row : picked)
    rows.insert(rows.end(), matrix.begin() + row * cols, matrix.begin() + (row + 1) * cols);
  return rows;
}

// `bounds` are whole errors.
inline testing::AssertionResult expect_within(const char* what, const Values& got,
                                              const Values& want, const Values& bounds) {
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < want.size(); ++i) expected.push_back({want[i], bounds[i]});
  return expect_close(what, got, expected, {.terms = 1.0, .eps_acc = 1.0, .eps_out = 0.0});
}

// An error and, on top of it, a rounding of the value to bf16; below the normal range to zero.
inline double with_rounding(double error, double value) {
  return error + kEpsBf16 * (std::abs(value) + error) + 0x1p-126;
}

struct Times24Problem {
  std::int64_t tokens;
  Values x;
  Values bias = {}, addend = {};  // empty: absent
  GemmEpilogue epilogue = GemmEpilogue::kNone;
  Activation activation = Activation::kGelu;
  Values before = {};
  bool keeps_slope = false;

  bool is_halved() const { return epilogue == GemmEpilogue::kActivation && is_gated(activation); }

  struct Results {
    Values before, c;
    Values again = {};  // the activation of `before` as it is stored
  };

  Results run(const Setup& setup, const PackedMatrix& packed) const {
    const std::int64_t N = packed.shape.rows, K = packed.shape.cols;
    const Shape shape{tokens, N}, shape_of_c{tokens, is_halved() ? N / 2 : N};
    const bool is_forward = epilogue == GemmEpilogue::kActivation;
    const Buffer x_in = setup.buffer(x), c = setup.buffer(rubbish(shape_of_c.num_elements()));
    const Buffer bias_in = setup.buffer(bias), addend_in = setup.buffer(addend);
    const Buffer before_in = setup.buffer(is_forward ? rubbish(tokens * N) : before);
    times_packed(*setup.context(), {.x = x_in.view({tokens, K}),
                                    .packed = packed,
                                    .c = c.view(shape_of_c),
                                    .bias = optional_view(bias_in, {N}),
                                    .addend = optional_view(addend_in, shape),
                                    .epilogue = epilogue,
                                    .activation = activation,
                                    .before = optional_view(before_in, shape),
                                    .keeps_slope = keeps_slope});
    Results results{before_in.values(), c.values()};
    if (!is_forward) return results;
    const Buffer again = setup.buffer(rubbish(shape_of_c.num_elements()));
    activation_forward(
        *setup.context(),
        {.kind = activation, .x = before_in.view(shape), .y = again.view(shape_of_c)});
    results.again = again.values();
    return results;
  }
};

// Of an f or f' of the bf16 kernels: no error reaches 2^-21 of x, which bounds f, nor, of f', of
// the terms it is summed from, 2 (1 + |x|); four times that is granted.
inline double error_of_activation(double x) { return 0x1p-19 * 2.0 * (1.0 + std::abs(x)); }

// f(x), or f'(x), in f64.
inline Values reference_activation(Activation kind, const Values& x, bool slope) {
  const Setup f64 = oracle();
  const Shape shape{1, static_cast<std::int64_t>(x.size())};
  const Buffer x_in = f64.buffer(x), dy = f64.buffer(Values(x.size(), 1.0));
  const Buffer y = f64.buffer(rubbish(shape.num_elements()));
  if (slope)
    activation_backward(
        *f64.context(),
        {.kind = kind, .x = x_in.view(shape), .dy = dy.view(shape), .dx = y.view(shape)});
  else
    activation_forward(*f64.context(), {.kind = kind, .x = x_in.view(shape), .y = y.view(shape)});
  return y.values();
}

// value · f(gate) of what is stored, in f64.
inline testing::AssertionResult check_gated(const Values& got, const Values& before,
                                            std::int64_t half, Activation kind) {
  const Setup f64 = oracle();
  const std::int64_t tokens = static_cast<std::int64_t>(before.size()) / (2 * half);
  const Buffer x = f64.buffer(before), y = f64.buffer(rubbish(tokens * half));
  activation_forward(*f64.context(),
                     {.kind = kind, .x = x.view({tokens, 2 * half}), .y = y.view({tokens, half})});
  const Values want = y.values();
  Values errors(want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t at = i + i / index(half) * index(half);
    const double value = before[at], gate = before[at + index(half)];
    errors[i] = with_rounding(std::abs(value * gate) * error_of_activation(gate), want[i]);
  }
  return expect_within("c", got, want, errors);
}

// Judges the rows of tokens `picked`, or all: (kept entries + 3) eps Σ|terms| and the roundings to
// bf16 that ops/products/gemm.h grants.
inline testing::AssertionResult check_times(const Setup& setup, const Storage24& packed,
                                            const Times24Problem& problem,
                                            const std::vector<std::int64_t>& picked = {}) {
  const std::int64_t N = packed.shape().rows, K = packed.shape().cols;
  const auto got = problem.run(setup, packed.matrix());
  const auto second = problem.run(setup, packed.matrix());
  if (auto result = expect_same_bits("c again", second.c, got.c); !result) return result;
  if (auto result = expect_same_bits("before again", second.before, got.before); !result)
    return result;

  const auto rows = [&](const Values& values) { return rows_of(values, N, picked); };
  const Values x = rows_of(problem.x, K, picked), addend = rows(problem.addend);
  const Values before = rows(got.before);
  const Shape x_shape{static_cast<std::int64_t>(x.size()) / K, K};
  Sums sums = reference_sums(x, packed.unpacked(DType::kF32), x_shape, {N, K}, true);
  Values& want = sums.values;
  Values errors(want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double bias = problem.bias.empty() ? 0.0 : problem.bias[i % index(N)];
    const double added = addend.empty() ? 0.0 : addend[i];
    want[i] += bias + added;
    const double size = sums.sizes[i] + std::abs(bias) + std::abs(added);
    errors[i] = static_cast<double>(K / 2 + 3) * kEpsF32 * size;
    if (!problem.bias.empty()) errors[i] = with_rounding(errors[i], want[i] - bias);
    errors[i] = with_rounding(errors[i], want[i]);
  }
  if (problem.epilogue == GemmEpilogue::kNone) return expect_within("c", rows(got.c), want, errors);
  const bool is_forward = problem.epilogue == GemmEpilogue::kActivation;
  if (is_forward) {
    if (auto result = expect_within("before", before, want, errors); !result) return result;
    if (auto result = expect_same_bits("f of what is stored", got.c, got.again); !result)
      return result;
  }
  if (problem.is_halved())
    return check_gated(rows_of(got.c, N / 2, picked), before, N / 2, problem.activation);
  const Values f = reference_activation(problem.activation, before, !is_forward);
  if (is_forward) {
    for (std::size_t i = 0; i < f.size(); ++i)
      errors[i] = with_rounding(error_of_activation(before[i]) * std::abs(before[i]), f[i]);
    return expect_within("c", rows(got.c), f, errors);
  }
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double size = std::abs(want[i]) + errors[i];
    const double error = std::abs(f[i]) * errors[i] + error_of_activation(before[i]) * size;
    want[i] *= f[i];
    errors[i] = with_rounding(error, want[i]);
  }
  return expect_within("c", rows(got.c), want, errors);
}

struct Epilogue24 {
  GemmEpilogue epilogue = GemmEpilogue::kNone;
  Activation activation = Activation::kGelu;
};
inline constexpr Epilogue24 kEpilogues24[] = {
    {},
    {GemmEpilogue::kActivation, Activation::kGeluTanh},
    {GemmEpilogue::kActivation, Activation::kGelu},
    {GemmEpilogue::kActivationGradient, Activation::kGeluTanh},
    {GemmEpilogue::kActivationGradient, Activation::kGelu},
    {GemmEpilogue::kActivation, Activation::kRelu2},
    {GemmEpilogue::kActivationGradient, Activation::kRelu2},
    {GemmEpilogue::kActivation, Activation::kSwiglu},
    {GemmEpilogue::kActivation, Activation::kGeglu},
    {GemmEpilogue::kActivation, Activation::kGegluTanh},
};

// Bits of `options`: bias, addend; then one of kEpilogues24.
inline constexpr int kNumOptions24 = 40;
inline Times24Problem random_times(Random& random, const PackedShape& shape, std::int64_t tokens,
                                   int options) {
  const std::int64_t count = tokens * shape.rows;
  Times24Problem problem{.tokens = tokens, .x = random.normal(tokens * shape.cols)};
  if ((options & 1) != 0) problem.bias = random.normal(shape.rows);
  if ((options & 2) != 0) problem.addend = random.normal(count);
  const Epilogue24& epilogue = kEpilogues24[options / 4];
  problem.epilogue = epilogue.epilogue;
  problem.activation = epilogue.activation;
  if (problem.epilogue == GemmEpilogue::kActivationGradient) problem.before = random.normal(count);
  return problem;
}

// Values whose products with x have sums around 1; the mask is 2:4 along rows.
inline void pack_random(Random& random, Storage24& storage, bool transpose) {
  const PackedShape& shape = storage.shape();
  const double spread = std::sqrt(2.0 / static_cast<double>(shape.cols));
  storage.pack(random.normal(shape.rows * shape.cols, spread),
               random_mask24(random, shape.rows, shape.cols), transpose, DType::kF32);
}

}  // namespace twill
