// SPDX-License-Identifier: Apache-2.0
// The vendor's 2:4 product: what it is asked is the product that ours is, and whoever has none says so.
#include "ops/products/peer_product.h"

#include "ops/products/packed24_problem.h"
#include "support/expect_error.h"

namespace twill {
namespace {

TEST(PeerProduct, IsAReasonWhereThereIsNoLibrary) {
  const Context context(cpu_table(), 1);
  Tensor structured(DType::kBf16, {8, 16}), other(DType::kBf16, {4, 16}), c(DType::kBf16, {4, 8});
  const PeerProductReport report = open_peer_product(
      context, {.structured = structured.view(), .other = other.view(), .result = c.view()});
  EXPECT_EQ(report.product, nullptr);
  EXPECT_EQ(report.reason, "the cpu backend knows no library with 2:4 products");
}

TEST(PeerProduct, SaysWhatIsWrong) {
  Tensor structured(DType::kBf16, {8, 16}), other(DType::kBf16, {4, 16}), c(DType::kBf16, {4, 8});
  const PeerProductArgs good{
      .structured = structured.view(), .other = other.view(), .result = c.view()};
  EXPECT_NO_THROW(validate(good));
  const auto expect = [&](const auto& change, const char* message) {
    PeerProductArgs args = good;
    change(args);
    expect_error([&] { validate(args); }, message);
  };
  expect([](auto& args) { args.result = {}; }, "[peer_product] result must be a matrix");
  expect([](auto& args) { args.other = {}; }, "[peer_product] other must be a matrix");
  expect([](auto& args) { args.side = PackedSide::kLeft; }, "[peer_product] structured");
  expect([](auto& args) { args.transposed = true; }, "[peer_product] structured");
  Tensor wide(DType::kF32, {8, 16}), bytes(DType::kU8, {4, 8});
  expect([&](auto& args) { args.structured = wide.view(); }, "[peer_product] structured must be");
  expect([&](auto& args) { args.result = bytes.view(); },
         "[peer_product] result must be bf16 or f32");
}

// Whole numbers of up to 2: every sum of 32 products is exact, in bf16 too.
struct WholeProblem {
  std::int64_t m, n, k;
  Values structured;  // P (rows of the product with P in front, k), its zeros in it
  Values other;
};

WholeProblem whole_problem(Random& random, PackedSide side) {
  WholeProblem problem{.m = 96, .n = 160, .k = 64, .structured = {}, .other = {}};
  const std::int64_t rows = side == PackedSide::kRight ? problem.n : problem.m;
  const std::int64_t others = side == PackedSide::kRight ? problem.m : problem.n;
  problem.structured = random.integers(rows * problem.k, -2, 2);
  const Values mask = random_mask24(random, rows, problem.k);
  for (std::size_t i = 0; i < mask.size(); ++i) problem.structured[i] *= mask[i];
  problem.other = random.integers(others * problem.k, -2, 2);
  return problem;
}

// c (m, n); `other` as it lies: x (m, k), or b (k, n).
Values product_of(const WholeProblem& p, PackedSide side) {
  Values c(index(p.m * p.n));
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t k = 0; k < p.k; ++k) {
        const bool right = side == PackedSide::kRight;
        c[index(i * p.n + j)] += p.structured[index((right ? j : i) * p.k + k)] *
                                 p.other[index(right ? i * p.k + k : k * p.n + j)];
      }
  return c;
}

Setup aligned_bf16(const Setup& setup) { return {.table = setup.table, .dtype = DType::kBf16}; }

class PeerProductOnDevice : public Packed24Test {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PeerProductOnDevice);

TEST_P(PeerProductOnDevice, IsTheProduct) {
  const auto setup = aligned_bf16(GetParam());
  Random random;
  for (const PackedSide side : {PackedSide::kRight, PackedSide::kLeft})
    for (const bool transposes : {false, true}) {
      const WholeProblem problem = whole_problem(random, side);
      const bool right = side == PackedSide::kRight;
      const Values want = product_of(problem, side);
      const Buffer structured = setup.buffer(
          right ? problem.structured : transposed(problem.structured, problem.m, problem.k));
      const Buffer other = setup.buffer(problem.other);
      const Buffer c = setup.buffer(rubbish(problem.m * problem.n));
      const PeerProductReport report = open_peer_product(
          *setup.context(),
          {.side = side,
           .structured =
               structured.view(right ? Shape{problem.n, problem.k} : Shape{problem.k, problem.m}),
           .other = other.view(right ? Shape{problem.m, problem.k} : Shape{problem.k, problem.n}),
           .result = c.view(transposes ? Shape{problem.n, problem.m} : Shape{problem.m, problem.n}),
           .transposed = transposes});
      if (!report.product && report.reason.find("libcusparseLt") != std::string::npos)
        GTEST_SKIP() << report.reason;
      ASSERT_TRUE(report.product) << report.reason;
      report.product->compress();
      report.product->run();
      wait(*setup.context());
      EXPECT_EQ(c.values(), transposes ? transposed(want, problem.m, problem.n) : want)
          << report.product->description();
    }
}
INSTANTIATE_TEST_SUITE_P(Tables, PeerProductOnDevice, testing::ValuesIn(setups_that_pack_bf16()),
                         setup_name);

}  // namespace
}  // namespace twill
