// SPDX-License-Identifier: Apache-2.0
// What `twill bench gemm` does on a GPU, on the CPU and in f32: only the peer is missing there.
#include "cli/bench/bench_products.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace twill::cli {
namespace {

ProductTimes times_of(const char* product, double gain, double ratio) {
  ProductTimes times{.product = product, .pattern = "2:4", .flops = 1e12};
  times.dense_seconds = gain * 1e-3;
  times.packed_seconds = 1e-3;
  times.gain = {.median = gain, .low = gain, .high = gain, .pairs = 5};
  if (ratio == 0.0) return times;
  times.peer.seconds = ratio * 1e-3;
  times.peer.ratio = {.median = ratio, .low = ratio, .high = ratio, .pairs = 5};
  times.peer.description = "cuSPARSELt 0.8.1, algorithm 7";
  return times;
}

TEST(BenchProducts, MeasuresProductsAndOverheads) {
  const Context context(cpu_table(), 1);
  const ProductBench bench = measure_products(
      context, {.shape = {64, 32}, .tokens = 48},
      {parse_pattern("2:4-transposable"), parse_pattern("2:4")}, DType::kF32, /*seconds=*/0.0);
  ASSERT_EQ(bench.products.size(), 3u);
  EXPECT_EQ(bench.products[0].product, "forward");
  EXPECT_EQ(bench.products[1].pattern, "2:4");
  EXPECT_EQ(bench.products[2].product, "wgrad");
  for (const ProductTimes& times : bench.products) {
    EXPECT_DOUBLE_EQ(times.flops, 2.0 * 48 * 64 * 32);
    EXPECT_GT(times.dense_seconds, 0.0);
    EXPECT_GT(times.packed_seconds, 0.0);
    EXPECT_EQ(times.gain.pairs, 5);
    EXPECT_EQ(times.peer.seconds, 0.0);
    EXPECT_EQ(times.peer.reason, "the operands are not bf16");
  }
  const auto bytes_of = [&](const char* work) {
    const auto found = std::ranges::find(bench.overheads, work, &SparseOverhead::work);
    return found == bench.overheads.end() ? -1.0 : found->bytes;
  };
  EXPECT_EQ(bytes_of("mask search"), 64 * 32 * (4 + 1));
  EXPECT_EQ(bytes_of("masked decay"), 64 * 32 * (4 + 4 + 4 + 1));
  EXPECT_EQ(bytes_of("MVUE alone"), 48 * 64 * 2 * 4);
  EXPECT_EQ(bytes_of("SwiGLU"), 48 * (64 + 32) * 4) << "two halves in, one out";
  EXPECT_EQ(bytes_of("SwiGLU gradient"), 48 * (64 + 32 + 64) * 4);
  EXPECT_EQ(bytes_of("SwiGLU, channel by channel"), -1.0) << "CPUs have no such kernel";
  EXPECT_GT(bytes_of("soft threshold and packing"), 64 * 32 * (4 + 4 + 2));
  for (const char* work : {"pack W", "pack W transposed", "pack both", "MVUE and packing",
                           "GELU gradient, MVUE, packing"})
    EXPECT_GT(bytes_of(work), 0.0) << work;
  EXPECT_EQ(std::ranges::count(bench.overheads, "pack W transposed", &SparseOverhead::work), 1)
      << "rows of four leave no columns of four";
}

TEST(BenchProducts, LeavesOutTheWeightGradientOfWhoAsksForNone) {
  const Context context(cpu_table(), 1);
  const ProductBench bench =
      measure_products(context, {.shape = {32, 64}, .tokens = 48, .wgrad = false},
                       {parse_pattern("2:4-transposable")}, DType::kF32, 0.0);
  EXPECT_EQ(bench.products.size(), 1u);
  EXPECT_EQ(bench.overheads.size(), 6u);
}

TEST(BenchProducts, UsualCasesAreThoseOfFiveModels) {
  const std::vector<ProductCase> cases = usual_product_cases();
  ASSERT_EQ(cases.size(), 10u);
  EXPECT_EQ(std::ranges::count(cases, true, &ProductCase::wgrad), 5);
  for (const ProductCase& problem : cases) {
    EXPECT_EQ(problem.wgrad, problem.shape.outputs > problem.shape.inputs);
    EXPECT_EQ(problem.shape.outputs % 16 + problem.shape.inputs % 16, 0) << "what GPUs pack";
  }
}

TEST(BenchProducts, MeansAreGeometricAndNameTheLeast) {
  std::vector<ProductBench> benches(2);
  benches[0].products = {times_of("forward", 1.0, 0.9), times_of("wgrad", 2.0, 1.6)};
  benches[1].products = {times_of("forward", 4.0, 0.0)};
  const ProductMeans all = means_of(benches);
  EXPECT_EQ(all.products, 3);
  EXPECT_EQ(all.peers, 2);
  EXPECT_NEAR(all.gain, 2.0, 1e-12);
  EXPECT_DOUBLE_EQ(all.least_gain, 1.0);
  EXPECT_NEAR(all.ratio, 1.2, 1e-12);
  EXPECT_DOUBLE_EQ(all.least_ratio, 0.9);
  EXPECT_EQ(means_of(benches, "wgrad").products, 1);
  EXPECT_EQ(means_of(benches, "dgrad").products, 0);
  const std::string report = means_report(benches);
  EXPECT_NE(report.find("all         3 products: gain 2.000, least 1.000; cuSPARSELt's time over "
                        "ours 1.200, least 0.900\n"),
            std::string::npos)
      << report;
}

TEST(BenchProducts, ReportHasColumnsOrReasons) {
  ProductBench bench{.problem = {.shape = {3072, 768}, .tokens = 65536}};
  bench.products = {times_of("forward", 1.5, 1.1), times_of("wgrad", 1.25, 0.0)};
  bench.products[1].peer.reason = "no such file";
  bench.overheads = {{.work = "pack W", .seconds = 1e-3, .bytes = 3e9}};
  const std::string report = report_of(bench, 4e12);
  for (const char* part :
       {"weight 3072 x 768, 65536 tokens", "cuBLASLt, ms", "1.500 ±0.000", "1.100 ±0.000",
        "forward: cuSPARSELt 0.8.1, algorithm 7", "wgrad: no cuSPARSELt: no such file", "75%"})
    EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
  const JsonValue json = json_of(bench, 4e12);
  const JsonArray& products = *json.find("products")->array();
  EXPECT_DOUBLE_EQ(*products[0].find("cusparselt")->find("ms")->number(), 1.1);
  EXPECT_TRUE(products[0].find("cusparselt")->find("reason")->is_null());
  EXPECT_TRUE(products[1].find("cusparselt")->find("ms")->is_null());
  EXPECT_TRUE(products[1].find("cusparselt")->find("time_over_ours")->is_null());
  EXPECT_EQ(*products[1].find("cusparselt")->find("reason")->text(), "no such file");
  EXPECT_DOUBLE_EQ(*(*json.find("overheads")->array())[0].find("share_of_copy")->number(), 0.75);
  EXPECT_TRUE(json.find("clock_hz")->is_null());
}

}  // namespace
}  // namespace twill::cli
