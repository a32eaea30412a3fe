// SPDX-License-Identifier: Apache-2.0
// Searched products on a GPU. Every queue here is new and has a cache of its own, so that it
// searches.
#include "backends/cuda/products/product_choices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "ops/products/gemm.h"
#include "support/buffer.h"
#include "support/judge.h"
#include "support/seeds.h"

namespace twill::cuda {
namespace {

// 2.1e10 FLOP: just worth a search.
constexpr std::int64_t kM = 2048, kN = 2560, kK = 2048;

class SearchedProducts : public testing::Test {
 protected:
  void SetUp() override {
    Device device;
    if (!cuda_table()->find_device(0, device).usable) GTEST_SKIP() << "no GPU";
    drawn_type() = DType::kBf16;
    const char* old = std::getenv("TWILL_CACHE");
    had_cache_ = old != nullptr;
    if (had_cache_) old_cache_ = old;
  }
  void TearDown() override {
    drawn_type() = DType::kF32;
    if (had_cache_) {
      setenv("TWILL_CACHE", old_cache_.c_str(), 1);
    } else {
      unsetenv("TWILL_CACHE");
    }
  }

  static std::shared_ptr<const Context> open(const TempDir& cache) {
    setenv("TWILL_CACHE", cache.path().c_str(), 1);
    return std::make_shared<const Context>(*cuda_table(), 1);
  }

 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
  bool had_cache_ = false;
  std::string old_cache_;
};

struct Operands {
  Buffer a, b, before, c;

  Operands(Random& random, DType c_type, const std::shared_ptr<const Context>& context)
      : a(random.integers(kM * kK, -2, 2), DType::kBf16, 0, context),
        b(random.integers(kN * kK, -2, 2), DType::kBf16, 0, context),
        before(random.normal(kM * kN), DType::kBf16, 0, context),
        c(Values(static_cast<std::size_t>(kM * kN), 1.0), c_type, 0, context) {}

  GemmArgs product() const {
    return {.a = a.view({kM, kK}), .b = b.view({kN, kK}), .c = c.view({kM, kN}), .trans_b = true};
  }
};

// Element (row, col) of a bᵀ; integers, so exact in f32.
double element(const Values& a, const Values& b, std::int64_t row, std::int64_t col) {
  double sum = 0.0;
  for (std::int64_t l = 0; l < kK; ++l)
    sum += a[static_cast<std::size_t>(row * kK + l)] * b[static_cast<std::size_t>(col * kK + l)];
  return sum;
}

// What timing does to c must not be seen: c held 1, and the product is added once per call.
TEST_F(SearchedProducts, ASearchLeavesAnAccumulatingResultAlone) {
  Random random;
  const TempDir cache;
  const auto context = open(cache);
  const Operands operands(random, DType::kF32, context);
  GemmArgs args = operands.product();
  args.accumulate = true;
  gemm(*context, args);
  gemm(*context, args);
  const Values a = operands.a.values(), b = operands.b.values(), c = operands.c.values();
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{777}, kM - 1})
    for (std::int64_t col = 0; col < kN; col += 37)
      ASSERT_EQ(c[static_cast<std::size_t>(row * kN + col)], 1.0 + 2.0 * element(a, b, row, col))
          << row << " " << col;
  EXPECT_EQ(cache.num_entries(), 2u);  // the file and its lock
}

// A loaded choice is used without a search: the second queue's cache stays empty.
TEST_F(SearchedProducts, ChoicesTravelWithARun) {
  const TempDir first_cache, second_cache;
  const auto first = open(first_cache);
  EXPECT_EQ(product_choices(first->queue()), "");
  Random random;
  const Operands operands(random, DType::kBf16, first);
  gemm(*first, operands.product());
  const std::string choices = product_choices(first->queue());
  EXPECT_EQ(std::ranges::count(choices, '\n'), 3) << choices;  // header, product, checksum

  const auto second = open(second_cache);
  load_product_choices(choices, second->queue());
  Random same;
  const Operands copies(same, DType::kBf16, second);
  gemm(*second, copies.product());
  EXPECT_EQ(copies.c.values(), operands.c.values());
  EXPECT_EQ(product_choices(second->queue()), choices);
  EXPECT_EQ(second_cache.num_entries(), 0u);
}

// Fused or not: the sum times the slope at `before`, and a second call gives the same bits.
TEST_F(SearchedProducts, AGradientIsRightWhoeverComputesIt) {
  Random random;
  const TempDir cache;
  const auto context = open(cache);
  const Operands operands(random, DType::kBf16, context);
  GemmArgs args = operands.product();
  args.epilogue = GemmEpilogue::kActivationGradient;
  args.activation = Activation::kGeluTanh;
  args.before = operands.before.view({kM, kN});
  gemm(*context, args);
  const Values c = operands.c.values();
  gemm(*context, args);
  EXPECT_EQ(operands.c.values(), c);
  EXPECT_NE(product_choices(context->queue()), "");
  const Values a = operands.a.values(), b = operands.b.values(), x = operands.before.values();
  const double scale = std::sqrt(2.0 / 3.14159265358979323846);
  for (const std::int64_t row : {std::int64_t{0}, kM - 1})
    for (std::int64_t col = 0; col < kN; col += 37) {
      const auto at = static_cast<std::size_t>(row * kN + col);
      const double t = std::tanh(scale * (x[at] + 0.044715 * x[at] * x[at] * x[at]));
      const double slope = 0.5 * (1.0 + t) + 0.5 * x[at] * (1.0 - t * t) * scale *
                                                 (1.0 + 3.0 * 0.044715 * x[at] * x[at]);
      const double sum = element(a, b, row, col);
      // The sum and the result are rounded to bf16, the slope (at most 1.13) to 2^-10 by the
      // library's tanh.
      ASSERT_NEAR(c[at], sum * slope, 2.3 * kEpsBf16 * std::abs(sum) + std::abs(sum) / 1024)
          << row << " " << col;
    }
}

}  // namespace
}  // namespace twill::cuda
