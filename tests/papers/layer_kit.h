// SPDX-License-Identifier: Apache-2.0
// Layers under the papers' checks: matrices of small numbers, whose products are exact in f32, and
// what a layer multiplied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

#include "nn/builder.h"
#include "nn/pass.h"
#include "ops/products/gemm.h"
#include "support/seeds.h"
#include "tensor/tensor.h"

namespace twill {

struct Numbers {
  std::int64_t rows = 0, cols = 0;
  Values x = {};

  Shape shape() const { return {rows, cols}; }
  double at(std::int64_t r, std::int64_t c) const {
    return x[static_cast<std::size_t>(r * cols + c)];
  }
  friend bool operator==(const Numbers&, const Numbers&) = default;
  friend void PrintTo(const Numbers& n, std::ostream* out) {
    *out << n.rows << " x " << n.cols << ": ";
    for (std::size_t i = 0; i < n.x.size(); ++i)
      *out << n.x[i] << ((i + 1) % static_cast<std::size_t>(n.cols) == 0 ? "; " : " ");
  }
};

inline Numbers transposed(const Numbers& a) {
  Numbers t{a.cols, a.rows, {}};
  for (std::int64_t c = 0; c < a.cols; ++c)
    for (std::int64_t r = 0; r < a.rows; ++r) t.x.push_back(a.at(r, c));
  return t;
}
inline Numbers product(const Numbers& a, const Numbers& b) {
  Numbers p{a.rows, b.cols, {}};
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < b.cols; ++c) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < a.cols; ++k) sum += a.at(r, k) * b.at(k, c);
      p.x.push_back(sum);
    }
  return p;
}
inline Numbers masked(Numbers a, const Numbers& mask) {
  for (std::size_t i = 0; i < a.x.size(); ++i) a.x[i] = mask.x[i] != 0.0 ? a.x[i] : 0.0;
  return a;
}
inline Values column_sums(const Numbers& a) {
  return product({1, a.rows, Values(static_cast<std::size_t>(a.rows), 1.0)}, a).x;
}

inline Numbers numbers_in(ConstView view) {
  Numbers n{view.rows(), view.cols(), {}};
  for (std::int64_t i = 0; i < view.num_elements(); ++i)
    n.x.push_back(view.dtype() == DType::kF32   ? view.as<float>()[i]
                  : view.dtype() == DType::kF64 ? view.as<double>()[i]
                                                : view.as<std::uint8_t>()[i]);
  return n;
}
inline void put(View view, const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (view.dtype() == DType::kF32) {
      view.as<float>()[i] = static_cast<float>(values[i]);
    } else {
      view.as<double>()[i] = values[i];
    }
}
inline Tensor tensor_of(const Numbers& n) {
  Tensor tensor(DType::kF32, n.shape());
  put(tensor.view(), n.x);
  return tensor;
}
inline Numbers small_integers(Random& random, std::int64_t rows, std::int64_t cols,
                              std::int64_t low = -8, std::int64_t high = 8) {
  return {rows, cols, random.integers(rows * cols, low, high)};
}

// op(a) op(b) = c, as one call of gemm had it.
struct GemmCall {
  Numbers a, b, c;
};

class ProductRecorder final : public OpObserver {
 public:
  void before(std::string_view) override {}
  void after(std::string_view op, const OpWork&) override {
    if (op == "gemm") products.back().c = numbers_in(c_);
  }
  void gemm(const GemmArgs& args) override {
    const Numbers a = numbers_in(args.a), b = numbers_in(args.b);
    products.push_back(
        {args.trans_a ? transposed(a) : a, args.trans_b ? transposed(b) : b, Numbers()});
    c_ = args.c;
  }

  std::vector<GemmCall> products;

 private:
  ConstView c_;
};

// A builder with everything that a seam can ask for, and passes as they are trained.
struct LayerKit {
  LayerKit(const KernelTable& table, std::int64_t num_tokens)
      : context(table, 1),
        builder(context, {.max_time = num_tokens,
                          .samples_gradients = true,
                          .rounds_operands = true,
                          .selects_activations = true}),
        tokens(num_tokens) {
    context.observer = &recorder;
  }

  Pass pass(std::uint32_t micro_step = 0) const {
    return {.context = context,
            .time = tokens,
            .training = true,
            .seed = 7,
            .micro_step = micro_step,
            .as_trained = true};
  }
  Parameter& parameter(std::size_t index) { return builder.parameters()[index]; }
  Numbers gradient(std::size_t index) { return numbers_in(parameter(index).gradient); }

  Context context;
  Builder builder;
  std::int64_t tokens;
  ProductRecorder recorder;
};

}  // namespace twill
