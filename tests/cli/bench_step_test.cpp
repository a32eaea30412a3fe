// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

// One block of width 32 with two windows of 32 tokens: a step of a millisecond. All tests look at
// the same run.
class BenchStep : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TempDir folder;
    const ProcessResult bench = run_twill(
        {"bench", "step", "device=cpu", "model.layers=1", "model.width=32", "model.heads=2",
         "model.context=32", "train.micro_batch=2", "--steps", "2", "--json", "bench.json"},
        {.folder = folder.path()});
    ASSERT_EQ(bench.exit_code, 0) << bench.err;
    text_ = bench.out;
    json_ = nlohmann::json::parse(content_of(folder / "bench.json"));
  }

  static const nlohmann::json& op(const std::string& name) {
    for (const nlohmann::json& row : json_.at("ops"))
      if (row.at("op") == name) return row;
    throw std::runtime_error("no row for " + name);
  }

  static inline std::string text_;
  static inline nlohmann::json json_;
};

void expect_line(const std::string& text, const std::string& pattern) {
  EXPECT_TRUE(std::regex_search(text, std::regex(pattern))) << pattern << "\n" << text;
}

TEST_F(BenchStep, ShowsEveryOpBesideItsRoof) {
  expect_line(text_, "op +calls +ms +of step +GB/s +of copy +GFLOP/s +of roof\n");
  // A product has FLOPs and a share of the product roof; a norm bytes and one of the copy roof.
  expect_line(text_, "\ngemm +\\d+ +[\\d.]+ +[\\d.]+% {15,}[\\d.e+-]+ +\\d+%\n");
  expect_line(text_, "\nlayer_norm_forward +\\d+ +[\\d.]+ +[\\d.]+% {1,9}[\\d.e+-]+ +\\d+%\n");
  expect_line(text_, "\nall of them +\\d+ +[\\d.]+ +[\\d.]+%\n");
}

TEST_F(BenchStep, NamesWhatAProductDoesBesides) {
  expect_line(text_, "product \\(M x N x K\\) +form +types +count +ms +GFLOP/s +of roof +of plain");
  expect_line(text_, "\\d+ x \\d+ x \\d+ +NT \\+bias +f32 +\\d+ ");
  expect_line(text_, "\\+residual");
}

TEST_F(BenchStep, SumsUpWithRoofsAndMemory) {
  for (const char* pattern :
       {"\nstep +[\\d.]+ ms", "\nGEMM floor +[\\d.]+ ms", "\nstep / floor +[\\d.]+",
        "\ntokens/s +\\d+", "\ncopy roof +[\\d.e+]+ GB/s", "\nproduct roof +[\\d.e+]+ GFLOP/s",
        "\nof roof +[\\d.]+%", "\nmemory table +[\\d.]+ MiB\npeak RSS +[\\d.]+ MiB"})
    expect_line(text_, pattern);
  EXPECT_EQ(text_.find("MFU"), std::string::npos) << "a CPU has no datasheet here";
  EXPECT_EQ(text_.find("on the GPU"), std::string::npos);
}

TEST_F(BenchStep, TheJsonHasTheSameNumbers) {
  for (const char* key :
       {"step_ms", "floor_ms", "step_over_floor", "slowest_product_over_plain", "tokens_per_s",
        "model_flops", "roof_share", "memory_table_bytes", "peak_rss_bytes"})
    EXPECT_TRUE(json_.at(key).is_number()) << key;
  EXPECT_TRUE(json_.at("mfu").is_null());
  EXPECT_FALSE(json_.contains("gpu_taken_bytes"));
  EXPECT_GT(json_.at("roof").at("copy_bytes_per_s"), 1e8);
  EXPECT_GT(json_.at("roof").at("product_flops_per_s"), 1e9);
  EXPECT_TRUE(json_.at("roof").at("peak_flops_per_s").is_null());
  double flops = 0.0;
  for (const nlohmann::json& product : json_.at("products"))
    flops += 2.0 * product.at("m").get<double>() * product.at("n").get<double>() *
             product.at("k").get<double>() * product.at("count").get<double>();
  EXPECT_EQ(op("gemm").at("flops").get<double>(), flops);
  // The formula counts the full square of attention, 12 d T per token and layer, and every product.
  EXPECT_DOUBLE_EQ(json_.at("model_flops").get<double>(), flops + 12.0 * 32 * 32 * 64);
  EXPECT_EQ(op("attention_forward").at("calls"), 1);
}

}  // namespace
}  // namespace twill
