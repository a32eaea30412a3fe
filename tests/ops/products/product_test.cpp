// SPDX-License-Identifier: Apache-2.0
// A product as a value: what the reference multiplies, what the others decline, and with which words.
#include "ops/products/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/fp8.h"
#include "base/rng.h"
#include "ops/packing/packed_matrix.h"
#include "ops/products/times_packed.h"
#include "tensor/tensor.h"
#include "twill/error.h"

namespace twill::product_test {
namespace {

using Kind = Parts::Kind;

Tensor numbers(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Tensor tensor(DType::kF32, {rows, cols});
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const Philox4 bits = random_bits(seed, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    tensor.view().as<float>()[i] = 2.0f * unit_float(bits[0]) - 1.0f;
  }
  return tensor;
}

Tensor indices(const std::vector<std::int32_t>& values) {
  Tensor tensor(DType::kI32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.view().as<std::int32_t>());
  return tensor;
}

double at(const ConstView& view, std::int64_t i, std::int64_t j) {
  return double{view.as<float>()[i * view.cols() + j]};
}

const Context& reference() {
  static const Context context(reference_table(), 1);
  return context;
}
const Context& cpu() {
  static const Context context(cpu_table(), 2);
  return context;
}

std::string refusal(const Context& context, const Product& product) {
  try {
    multiply(context, product);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Rows of f32 numbers, each from its last column to its first: a layout that only this file knows.
void decode_backwards(const Operand& operand, const Decoded& to) {
  const float* from = operand.data.as<float>();
  for (std::int64_t i = 0; i < operand.rows; ++i)
    for (std::int64_t j = 0; j < operand.cols; ++j) {
      to.values[i * operand.cols + j] = double{from[i * operand.cols + operand.cols - 1 - j]};
      to.kept[i * operand.cols + j] = 1;
    }
}
constexpr LayoutKind kBackwards{.name = "backwards", .decode = decode_backwards};
constexpr LayoutKind kSecret{.name = "as nobody knows", .decode = nullptr};

Operand backwards(ConstView stored) {
  Operand operand = dense(stored);
  operand.layout = &kBackwards;
  return operand;
}

TEST(Product, OfAMadeUpLayoutIsMultipliedByTheReferenceAndDeclinedByOthers) {
  const std::int64_t M = 3, N = 4, K = 5;
  const Tensor a = numbers(M, K, 1), b = numbers(N, K, 2);
  Tensor c(DType::kF32, {M, N});
  const Product product{
      .a = dense(a.view()), .b = backwards(b.view()), .c = c.view(), .trans_b = true};
  const Verdict here = can_run(reference(), product);
  EXPECT_TRUE(here.runs);
  EXPECT_EQ(here.kernel, "reference: both sides decoded to f64");
  multiply(reference(), product);
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < K; ++k) sum += at(a.view(), i, k) * at(b.view(), j, K - 1 - k);
      EXPECT_EQ(c.view().as<float>()[i * N + j], static_cast<float>(sum));
    }
  const Verdict there = can_run(cpu(), product);
  EXPECT_FALSE(there.runs);
  EXPECT_EQ(there.reason, "the cpu has no kernel for operands that lie backwards");
  EXPECT_NE(refusal(cpu(), product).find(there.reason), std::string::npos);
  Product secret = product;
  secret.b.layout = &kSecret;
  EXPECT_NE(refusal(reference(), secret).find("no decoder for operands that lie as nobody knows"),
            std::string::npos);
}

// Every kernel behind it gives the bits that its own front door gives.
TEST(Product, RunsAsItsKernelDoes) {
  const std::int64_t M = 40, N = 24, K = 32;
  const Tensor a = numbers(M, K, 1), b = numbers(N, K, 2), bias = numbers(1, N, 3);
  for (const Context* context : {&reference(), &cpu()}) {
    Tensor c(DType::kF32, {M, N}), want(DType::kF32, {M, N}), before(DType::kF32, {M, N});
    Product product{.a = dense(a.view()),
                    .b = dense(b.view()),
                    .c = c.view(),
                    .trans_b = true,
                    .epilogue = {.bias = bias.view().reshaped({N})}};
    multiply(*context, product);
    gemm(*context, {.a = a.view(),
                    .b = b.view(),
                    .c = want.view(),
                    .trans_b = true,
                    .bias = bias.view().reshaped({N})});
    EXPECT_EQ(std::memcmp(c.view().bytes(), want.view().bytes(), M * N * 4), 0);

    const PackedShape shape{.rows = N, .cols = K, .max_kept = N * K};
    Tensor storage(DType::kU8, {packed_bytes(*context, shape)});
    pack_matrix(*context, {.dense = b.view(), .shape = shape, .storage = storage.view()});
    const PackedMatrix packed{.shape = shape, .storage = storage.view(), .kept = N * K};
    product.b = without_zeros(packed);
    product.epilogue.f = GemmEpilogue::kActivation;
    product.epilogue.before = before.view();
    multiply(*context, product);
    times_packed(*context, {.x = a.view(),
                            .packed = packed,
                            .c = want.view(),
                            .bias = bias.view().reshaped({N}),
                            .epilogue = GemmEpilogue::kActivation,
                            .before = before.view()});
    EXPECT_EQ(std::memcmp(c.view().bytes(), want.view().bytes(), M * N * 4), 0);
  }
}

TEST(Product, NamesItsKernelAndWhyAQuickerOneDeclined) {
  const Tensor a = numbers(8, 8, 1), b = numbers(8, 8, 2);
  Tensor c(DType::kF32, {8, 8}), before(DType::kF32, {8, 8});
  Product product{.a = dense(a.view()), .b = dense(b.view()), .c = c.view()};
  EXPECT_EQ(can_run(cpu(), product).kernel, "cpu: oneDNN sgemm");
  EXPECT_EQ(can_run(cpu(), product).reason, "");
  product.epilogue.f = GemmEpilogue::kActivation;
  product.epilogue.before = before.view();
  EXPECT_EQ(can_run(cpu(), product).kernel, "cpu: oneDNN sgemm, then gelu");
  EXPECT_EQ(can_run(cpu(), product).reason, "oneDNN's sgemm has no activation inside");
  product.epilogue.keeps_slope = true;
  EXPECT_EQ(can_run(cpu(), product).reason,
            "on the cpu only products with packed weights keep the slope of an activation");
}

// Two experts: rows 0 to 2 and 2 to 5; row 5 has none.
TEST(Product, OfGroupsOfRowsTakesAMatrixEach) {
  const std::int64_t M = 6, N = 3, K = 4;
  const Tensor a = numbers(M, K, 1), b = numbers(2 * N, K, 2), begin = indices({0, 2, 5});
  Tensor c = numbers(M, N, 3);
  const Tensor old = numbers(M, N, 3);
  const Product product{.a = dense(a.view()),
                        .b = dense(b.view()),
                        .c = c.view(),
                        .trans_b = true,
                        .parts = {.kind = Kind::kRowGroups, .begin = begin.view()}};
  multiply(reference(), product);
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < K; ++k)
        sum += at(a.view(), i, k) * at(b.view(), (i < 2 ? 0 : N) + j, k);
      EXPECT_EQ(at(c.view(), i, j), i < 5 ? double{static_cast<float>(sum)} : at(old.view(), i, j))
          << i << ' ' << j;
    }
  EXPECT_EQ(can_run(cpu(), product).reason, "on the cpu groups and live tiles have no kernel");
}

TEST(Product, OfGroupsOfDepthHasAResultEach) {
  const std::int64_t M = 3, N = 2, K = 7;
  const Tensor a = numbers(K, M, 1), b = numbers(K, N, 2), begin = indices({0, 3, 3, 7});
  Tensor c = numbers(3 * M, N, 3);
  multiply(reference(), {.a = dense(a.view()),
                         .b = dense(b.view()),
                         .c = c.view(),
                         .trans_a = true,
                         .parts = {.kind = Kind::kDepthGroups, .begin = begin.view()}});
  const std::int64_t from[] = {0, 3, 3}, to[] = {3, 3, 7};
  for (std::int64_t g = 0; g < 3; ++g)
    for (std::int64_t i = 0; i < M; ++i)
      for (std::int64_t j = 0; j < N; ++j) {
        double sum = 0.0;
        for (std::int64_t k = from[g]; k < to[g]; ++k)
          sum += at(a.view(), k, i) * at(b.view(), k, j);
        EXPECT_EQ(at(c.view(), g * M + i, j), double{static_cast<float>(sum)}) << g;
      }
}

// Tiles of 2 rows and 2 columns: of the first rows the last tile, of the second rows the first two.
TEST(Product, OfLiveColumnsLeavesTheOthersAlone) {
  const std::int64_t M = 3, N = 5, K = 4;
  const Tensor a = numbers(M, K, 1), b = numbers(K, N, 2);
  const Tensor begin = indices({0, 1, 3}), tiles = indices({2, 0, 1});
  Tensor c = numbers(M, N, 3);
  const Tensor old = numbers(M, N, 3);
  multiply(reference(), {.a = dense(a.view()),
                         .b = dense(b.view()),
                         .c = c.view(),
                         .parts = {.kind = Kind::kLiveColumns,
                                   .begin = begin.view(),
                                   .tiles = tiles.view(),
                                   .tile_rows = 2,
                                   .tile_depth = 2}});
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      const bool lives = i < 2 ? j == 4 : j < 4;
      double sum = 0.0;
      for (std::int64_t k = 0; k < K; ++k) sum += at(a.view(), i, k) * at(b.view(), k, j);
      EXPECT_EQ(at(c.view(), i, j), lives ? double{static_cast<float>(sum)} : at(old.view(), i, j))
          << i << ' ' << j;
    }
}

TEST(Product, OfLiveDepthSumsOverItsListAlone) {
  const std::int64_t M = 4, N = 2, K = 5;
  const Tensor a = numbers(M, K, 1), b = numbers(K, N, 2);
  const Tensor begin = indices({0, 2, 2}), tiles = indices({2, 0});
  Tensor c = numbers(M, N, 3);
  multiply(reference(), {.a = dense(a.view()),
                         .b = dense(b.view()),
                         .c = c.view(),
                         .parts = {.kind = Kind::kLiveDepth,
                                   .begin = begin.view(),
                                   .tiles = tiles.view(),
                                   .tile_rows = 3,
                                   .tile_depth = 2}});
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = 0.0;  // row 3 has an empty list
      for (const std::int64_t k : {4, 0, 1})
        if (i < 3) sum += at(a.view(), i, k) * at(b.view(), k, j);
      EXPECT_EQ(at(c.view(), i, j), double{static_cast<float>(sum)}) << i << ' ' << j;
    }
}

// 1.5 and -0.25 are numbers of e4m3 and of bf16.
TEST(Product, OfEightBitNumbersHasTheirScales) {
  Tensor a(DType::kE4m3, {1, 2}), b(DType::kBf16, {2, 1});
  a.view().as<Fp8E4m3>()[0] = to_fp8<Fp8E4m3>(1.5f);
  a.view().as<Fp8E4m3>()[1] = to_fp8<Fp8E4m3>(-0.25f);
  b.view().as<Bf16>()[0] = to_bf16(2.0f);
  b.view().as<Bf16>()[1] = to_bf16(4.0f);
  Tensor c(DType::kF32, {1, 1}), scale(DType::kF32, {1});
  *scale.view().as<float>() = 8.0f;
  const Product product{.a = dense(a.view(), {.value = 0.5f}),
                        .b = dense(b.view(), {.at = scale.view()}),
                        .c = c.view()};
  multiply(reference(), product);
  EXPECT_EQ(*c.view().as<float>(), (1.5f * 2.0f - 0.25f * 4.0f) * 0.5f * 8.0f);
  EXPECT_EQ(can_run(cpu(), product).reason, "the cpu multiplies f32, not e4m3");
}

TEST(Product, EmitsCopiesAndSumsOfItsResult) {
  const std::int64_t M = 3, N = 2, K = 4;
  const Tensor a = numbers(M, K, 1), b = numbers(K, N, 2);
  Tensor c(DType::kF32, {M, N}), turned(DType::kBf16, {N, M}), small(DType::kE5m2, {M, N});
  Tensor amax(DType::kF32, {1}), sums(DType::kF32, {N});
  const Emit emits[] = {{.to = turned.view(), .transposed = true, .amax = amax.view()},
                        {.to = small.view(), .scale = {.value = 0.125f}}};
  const Product product{.a = dense(a.view()),
                        .b = dense(b.view()),
                        .c = c.view(),
                        .epilogue = {.emits = emits, .sums = sums.view()}};
  multiply(reference(), product);
  float most = 0.0f;
  for (std::int64_t j = 0; j < N; ++j) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < M; ++i) {
      const float value = c.view().as<float>()[i * N + j];
      most = std::max(most, std::fabs(value));
      sum += double{value};
      EXPECT_EQ(to_float(turned.view().as<Bf16>()[j * M + i]), to_float(to_bf16(value)));
      EXPECT_EQ(small.view().as<Fp8E5m2>()[i * N + j], to_fp8<Fp8E5m2>(value / 0.125f));
    }
    EXPECT_FLOAT_EQ(sums.view().as<float>()[j], static_cast<float>(sum));
  }
  EXPECT_EQ(*amax.view().as<float>(), most);
  EXPECT_EQ(can_run(cpu(), product).reason,
            "on the cpu no product writes further copies or sums of its result");
}

// Of row groups and of live tiles alike: what is not written keeps its bits behind an activation too.
TEST(Product, OfPartsActivatesThoseAlone) {
  const std::int64_t M = 4, N = 4, K = 3;
  const Tensor a = numbers(M, K, 1), b = numbers(K, N, 2), begin = indices({1, 3});
  const Tensor lists = indices({0, 1, 1}), tiles = indices({1}), old = numbers(M, N, 3);
  for (const bool groups : {true, false}) {
    Tensor c = numbers(M, N, 3), before = numbers(M, N, 3);
    multiply(reference(), {.a = dense(a.view()),
                           .b = dense(b.view()),
                           .c = c.view(),
                           .parts = groups ? Parts{.kind = Kind::kRowGroups, .begin = begin.view()}
                                           : Parts{.kind = Kind::kLiveColumns,
                                                   .begin = lists.view(),
                                                   .tiles = tiles.view(),
                                                   .tile_rows = 2,
                                                   .tile_depth = 2},
                           .epilogue = {.f = GemmEpilogue::kActivation,
                                        .activation = Activation::kRelu2,
                                        .before = before.view()}});
    for (std::int64_t i = 0; i < M; ++i)
      for (std::int64_t j = 0; j < N; ++j) {
        const bool exists = groups ? i >= 1 && i < 3 : i < 2 && j >= 2;
        double sum = 0.0;
        for (std::int64_t k = 0; k < K; ++k) sum += at(a.view(), i, k) * at(b.view(), k, j);
        const double kept = at(old.view(), i, j), positive = std::max(0.0, sum);
        EXPECT_NEAR(at(c.view(), i, j), exists ? positive * positive : kept, exists ? 1e-6 : 0.0);
        EXPECT_NEAR(at(before.view(), i, j), exists ? sum : kept, exists ? 1e-6 : 0.0);
      }
  }
}

// Every way to decode a side and to place the result, against sums written out here. Terms are at most 16 of
// size 1, and both sides round once to f32: 2^-19 covers it.
TEST(Product, OfEveryLayoutIsTheSumItSays) {
  const std::int64_t M = 6, N = 8, K = 16;
  const Tensor a = numbers(M, K, 1), b = numbers(N, K, 2), old = numbers(M, N, 4);
  Tensor turned(DType::kF32, {K, N});
  for (std::int64_t i = 0; i < N; ++i)
    for (std::int64_t k = 0; k < K; ++k)
      turned.view().as<float>()[k * N + i] = b.view().as<float>()[i * K + k];
  const PackedShape shape{.rows = N, .cols = K, .max_kept = N * K};
  Tensor storage(DType::kU8, {packed_bytes(reference(), shape)});
  pack_matrix(reference(), {.dense = b.view(), .shape = shape, .storage = storage.view()});
  Operand columns = dense(turned.view());
  columns.layout = column_major();
  columns.rows = N;
  columns.cols = K;
  columns.scale = {.value = 2.0f};  // so that no kernel but multiply takes it
  Operand sparse = without_zeros({.shape = shape, .storage = storage.view(), .kept = N * K});
  sparse.scale = {.value = 2.0f};
  Operand plain = dense(b.view(), {.value = 2.0f});
  for (const Operand& side : {plain, columns, sparse})
    for (const bool trans_c : {false, true})
      for (const bool accumulates : {false, true}) {
        Tensor c = trans_c ? numbers(N, M, 4) : numbers(M, N, 4);
        const Tensor first = trans_c ? numbers(N, M, 4) : numbers(M, N, 4);
        multiply(reference(), {.a = dense(a.view()),
                               .b = side,
                               .c = c.view(),
                               .trans_b = true,
                               .trans_c = trans_c,
                               .accumulates = accumulates});
        for (std::int64_t i = 0; i < M; ++i)
          for (std::int64_t j = 0; j < N; ++j) {
            const std::int64_t row = trans_c ? j : i, col = trans_c ? i : j;
            double sum = accumulates ? at(first.view(), row, col) : 0.0;
            for (std::int64_t k = 0; k < K; ++k)
              sum += 2.0 * at(a.view(), i, k) * at(b.view(), j, k);
            EXPECT_NEAR(at(c.view(), row, col), sum, std::ldexp(1.0, -19));
          }
      }
}

// What a new type or layout needs of a backend: a kernel, and the word that it takes it. Everything else goes
// where it went.
TEST(Product, GoesToABackendsOwnKernelThatTakesIt) {
  static int calls;
  calls = 0;
  KernelTable table = cpu_table();
  table.takes = [](const Product& product, const Device&) {
    return product.b.layout == &kBackwards;
  };
  table.multiply = [](const Product&, const Device&, Queue&) { ++calls; };
  const Context context(table, 1);
  const Tensor a = numbers(3, 5, 1), b = numbers(4, 5, 2);
  Tensor c(DType::kF32, {3, 4}), want(DType::kF32, {3, 4});
  Product product{.a = dense(a.view()), .b = dense(b.view()), .c = c.view(), .trans_b = true};
  multiply(context, product);
  EXPECT_EQ(calls, 0);
  product.c = want.view();
  multiply(cpu(), product);
  EXPECT_EQ(std::memcmp(c.view().bytes(), want.view().bytes(), 3 * 4 * 4), 0);
  product.b = backwards(b.view());
  multiply(context, product);
  EXPECT_EQ(calls, 1);
}

TEST(Product, SaysWhatDoesNotGoTogether) {
  const Tensor a = numbers(3, 4, 1), b = numbers(4, 4, 2);
  Tensor c(DType::kF32, {3, 4}), square(DType::kF32, {4, 3}), half(DType::kF32, {3, 2});
  Tensor before(DType::kF32, {3, 4}), sums(DType::kBf16, {4}), two(DType::kF32, {2});
  const Tensor list = indices({0, 1});
  const Product plain{.a = dense(a.view()), .b = dense(b.view()), .c = c.view()};
  const auto expect = [&](const char* text, const auto& change) {
    Product product = plain;
    change(product);
    EXPECT_NE(refusal(reference(), product).find(text), std::string::npos) << text;
  };
  const auto activate = [&](Product& product) {
    product.epilogue.f = GemmEpilogue::kActivation;
    product.epilogue.before = before.view();
    product.a.scale.value = 2.0f;  // the rules of multiply(), not of gemm
  };
  expect("an activation needs `before`", [&](Product& product) {
    activate(product);
    product.epilogue.before = {};
  });
  expect("neither with trans_c nor with accumulates", [&](Product& product) {
    activate(product);
    product.accumulates = true;
  });
  expect("neither with trans_c nor with accumulates", [&](Product& product) {
    activate(product);
    product.trans_c = true;
    product.c = square.view();
  });
  expect("the gradient of a gated activation", [&](Product& product) {
    activate(product);
    product.epilogue.f = GemmEpilogue::kActivationGradient;
    product.epilogue.activation = Activation::kSwiglu;
  });
  expect("needs whole rows", [&](Product& product) {
    activate(product);
    product.epilogue.activation = Activation::kSwiglu;
    product.c = half.view();
    product.parts = {.kind = Kind::kLiveColumns,
                     .begin = list.view(),
                     .tiles = list.view(),
                     .tile_rows = 3,
                     .tile_depth = 2};
  });
  expect("sums must be f32 or f64, got bf16",
         [&](Product& product) { product.epilogue.sums = sums.view(); });
  expect("[product] scale", [&](Product& product) { product.a.scale.at = two.view(); });
}

TEST(Product, SaysWhatIsWrongWithItsShapes) {
  const Tensor a = numbers(3, 4, 1), b = numbers(5, 2, 2);
  Tensor c(DType::kF32, {3, 2});
  const Product product{.a = backwards(a.view()), .b = dense(b.view()), .c = c.view()};
  EXPECT_NE(refusal(reference(), product).find("[product] b must be"), std::string::npos);
}

}  // namespace
}  // namespace twill::product_test
