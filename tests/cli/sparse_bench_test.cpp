// SPDX-License-Identifier: Apache-2.0
// twill plan, bench gemm, bench ffn, bench block and bench step --against-dense, from outside, on tiny
// shapes.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <regex>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "io/temp_dir.h"
#include "ops/kernel_table.h"

namespace twill {
namespace {

class SparseBench : public testing::Test {
 protected:
  ProcessResult twill(std::vector<std::string> words) const {
    return run_twill(words, {.folder = dir_.path()});
  }
  // A model of two blocks of width 32, two windows of 32 tokens.
  ProcessResult on_tiny_model(std::vector<std::string> words) const {
    words.insert(words.end(), {"device=cpu", "model.layers=2", "model.width=32", "model.heads=2",
                               "model.context=32", "train.micro_batch=2"});
    return twill(words);
  }
  nlohmann::json json(const std::string& name) const {
    return nlohmann::json::parse(content_of(dir_ / name));
  }
  void expect_error(const std::vector<std::string>& words, const std::string& part) const {
    const ProcessResult result = twill(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << result.err;
  }

  TempDir dir_;
};

void expect_match(const std::string& text, const std::string& pattern) {
  EXPECT_TRUE(std::regex_search(text, std::regex(pattern))) << pattern << "\n" << text;
}

TEST_F(SparseBench, PlanMeasuresWithoutTraining) {
  const ProcessResult plan =
      on_tiny_model({"plan", "recipe=fst", "--explain", "--json", "plan.json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  expect_match(plan.out, "phase 0, blocks.\\*.ffn.input, 128 x 32");
  expect_match(plan.out, "packed  cpu: dense x packed, transposable 2:4, ");
  expect_match(plan.out, "phase 0, 83.3% of the steps: 2:4-transposable weights");
  expect_match(plan.out, "\n +2  ffn.input 128 x 32 +0.500 +[\\d.]+ +[\\d.]+ +[\\d.]+ ");
  expect_match(plan.out, "\\d of 4 matrices packed");
  expect_match(plan.out, "expected gain of their products [\\d.]+, of a step [\\d.]+\n");
  expect_match(plan.out, "phase 1, 16.7% of the steps: dense\n");
  expect_match(plan.out, "whole run +[\\d.]+ x +expected");
  const nlohmann::json report = json("plan.json");
  EXPECT_EQ(report.at("tokens"), 64);
  ASSERT_EQ(report.at("layer").size(), 2u);
  for (const nlohmann::json& layer : report.at("layer")) {
    EXPECT_EQ(layer.at("layers"), 2);
    EXPECT_GT(layer.at("dense").at("forward_ms"), 0.0);
    EXPECT_GT(layer.at("packed").at("forward_ms"), 0.0);
    EXPECT_GT(layer.at("upkeep_ms"), 0.0);
    EXPECT_TRUE(layer.contains("pays_from_tokens"));
  }
  ASSERT_EQ(report.at("kernels").size(), 2u);
  const nlohmann::json& kernels = report.at("kernels").at(0);
  EXPECT_EQ(kernels.at("site"), "blocks.*.ffn.input");
  EXPECT_EQ(kernels.at("dense").at(0).at("product"), "forward");
  EXPECT_EQ(kernels.at("dense").at(0).at("reason"), "oneDNN's sgemm has no activation inside");
  EXPECT_EQ(kernels.at("packed").size(), 3u);
  EXPECT_GT(report.at("dense_step_ms"), 0.0);
  EXPECT_GT(report.at("expected_run_gain"), 0.0);
}

// A run that has its plan measured by another process gives that its resolved config, and finds the plan where it
// would have kept its own.
TEST_F(SparseBench, AQuietPlanIsKeptForWhoHasTheSameConfig) {
  const std::filesystem::path plans = dir_ / ".cache/plans";
  std::ptrdiff_t kept = 0;
  for (const char* recipe : {"fst", "s-ste", "mst", "set"}) {
    const std::string word = std::string("recipe=") + recipe;
    const ProcessResult plan = on_tiny_model({"plan", word, "--quiet"});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    EXPECT_EQ(plan.out, "");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(plans), {}), ++kept) << recipe;
    dir_.write("resolved.toml", on_tiny_model({"config", word}).out);
    ASSERT_EQ(twill({"plan", "resolved.toml", "--quiet"}).exit_code, 0);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(plans), {}), kept) << recipe;
  }
  expect_error({"plan", "recipe=fst", "--quiet", "--json", "x.json"},
               "leave out --quiet, or --json x.json");
}

// By a plan that says so: what packed products cost a GPU in clocks they do not cost a CPU. A launcher counts its
// processes, so that under one the run stays where it is.
TEST_F(SparseBench, DenseStepsBehindPackedOnesGoOnInANewProcess) {
  ASSERT_EQ(on_tiny_model({"plan", "recipe=fst", "--quiet"}).exit_code, 0);
  std::string plan =
      content_of(std::filesystem::directory_iterator(dir_ / ".cache/plans")->path().string());
  for (const auto& [from, to] : {std::pair{"on = false", "on = true"},
                                 {"_below = [\\d.]+", "_below = 0.6"},
                                 {"slowed_by_packed = [\\d.]+", "slowed_by_packed = 0.05"}})
    plan = std::regex_replace(plan, std::regex(from), to);
  dir_.write("slowed.toml", plan);
  const auto train = [&](const std::string& name, const std::string& restart_saves) {
    return on_tiny_model({"train", "recipe=fst", "recipe.phase.0.until=0.5", "plan=slowed.toml",
                          "train.steps=8", "checkpoint.every=8", "log.sample_tokens=0",
                          "run.name=" + name, "run.restart_saves=" + restart_saves});
  };
  const ProcessResult moves = train("moves", "0"), stays = train("stays", "1e9");
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", /*overwrite=*/1);
  const ProcessResult launched = train("launched", "0");
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  for (const ProcessResult* result : {&moves, &stays, &launched})
    ASSERT_EQ(result->exit_code, 0) << result->err;
  expect_match(moves.out, "going on in a new process");
  expect_match(moves.out, "resumed from /.*/runs/moves/checkpoints/step-00000004");
  EXPECT_EQ(stays.out.find("new process"), std::string::npos);
  EXPECT_EQ(launched.out.find("new process"), std::string::npos);
  EXPECT_EQ(launched.out.find("resumed from"), std::string::npos);
  const std::string told = "started by mpirun: the run stays in this process";
  ASSERT_NE(launched.err.find(told), std::string::npos) << launched.err;
  EXPECT_EQ(launched.err.find(told), launched.err.rfind(told)) << "once";
  const std::string last = "/checkpoints/step-00000008/model.safetensors";
  for (const char* other : {"runs/moves", "runs/launched"})
    EXPECT_TRUE(content_of(dir_ / (other + last)) == content_of(dir_ / ("runs/stays" + last)));
}

// A run of the same path below the folder of runs is another run.
TEST_F(SparseBench, AProcessThatTakesOverFindsItsOwnRun) {
  ASSERT_EQ(on_tiny_model({"plan", "recipe=fst", "--quiet"}).exit_code, 0);
  std::string plan =
      content_of(std::filesystem::directory_iterator(dir_ / ".cache/plans")->path().string());
  for (const auto& [from, to] : {std::pair{"on = false", "on = true"},
                                 {"_below = [\\d.]+", "_below = 0.6"},
                                 {"slowed_by_packed = [\\d.]+", "slowed_by_packed = 2.0"}})
    plan = std::regex_replace(plan, std::regex(from), to);
  dir_.write("slowed.toml", plan);
  const std::vector<std::string> length{"train.steps=8", "checkpoint.every=8", "run.name=r",
                                        "log.sample_tokens=0"};
  const auto train = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "train");
    words.insert(words.end(), length.begin(), length.end());
    return on_tiny_model(words);
  };
  const ProcessResult other = train({"recipe=dense", "run.dir=runs/x"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const ProcessResult moves = train({"recipe=fst", "recipe.phase.0.until=0.5", "plan=slowed.toml",
                                     "run.dir=x", "run.restart_saves=0"});
  ASSERT_EQ(moves.exit_code, 0) << moves.err;
  expect_match(moves.out, "going on in a new process");
  expect_match(moves.out, "resumed from /.*/x/r/checkpoints/step-00000004");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "x/r/checkpoints/step-00000008"));
  EXPECT_EQ(content_of(dir_ / "runs/x/r/facts.json").find("--resume"), std::string::npos)
      << "the other run was left alone";
}

TEST_F(SparseBench, PlanSaysWhenItIsNotFollowed) {
  const ProcessResult masked =
      on_tiny_model({"plan", "recipe=static", "recipe.execution=masked", "--fresh"});
  ASSERT_EQ(masked.exit_code, 0) << masked.err;
  expect_match(masked.out, "recipe.execution = \"masked\": a run would not follow the table");
  expect_match(masked.out, "topology of density 0.2, never moved");
  expect_error({"plan", "recipe=dense"}, "recipe dense is dense: there is nothing to plan");
  expect_error({"plan", "recipe=fst", "plan=none.toml"}, "none.toml");
  expect_error({"plan", "--frash"}, "--fresh");
}

// Another program has other times, though it be called the same.
TEST_F(SparseBench, PlanOfAnotherBuildIsMeasuredAgain) {
  const std::string copy = dir_ / "twill";
  std::filesystem::copy_file(TWILL_BINARY, copy);
  const auto plan_by_the_copy = [&] {
    const ProcessResult plan =
        run_twill({"plan", "recipe=fst", "device=cpu", "threads=1", "model.layers=1",
                   "model.width=32", "model.heads=2", "model.context=32", "train.micro_batch=2"},
                  {.folder = dir_.path(), .binary = copy});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
  };
  const auto num_kept = [&] {
    return std::distance(std::filesystem::directory_iterator(dir_ / ".cache/plans"), {});
  };
  plan_by_the_copy();
  EXPECT_EQ(num_kept(), 1);
  plan_by_the_copy();
  EXPECT_EQ(num_kept(), 1) << "the same build";
  std::filesystem::last_write_time(copy,
                                   std::filesystem::last_write_time(copy) + std::chrono::hours(1));
  plan_by_the_copy();
  EXPECT_EQ(num_kept(), 2) << "built an hour later";
}

TEST_F(SparseBench, GemmComparesPackedWithDense) {
  const ProcessResult bench =
      twill({"bench", "gemm", "device=cpu", "--threads", "1", "--shapes", "64x32", "--tokens", "48",
             "--patterns", "2:4-transposable,2:4,V:2:8,90%", "--seconds", "0", "--json", "g.json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out, "\nweight 64 x 32, 48 tokens\ndense +own, ms +library, ms +GFLOP/s\n");
  expect_match(bench.out, "\nforward  2:4-transposable +0.500 ");
  expect_match(bench.out, "\ndgrad    V:2:8 +0.250 ");
  expect_match(bench.out, "\nwgrad    90% ");
  const nlohmann::json report = json("g.json");
  const nlohmann::json& product = report.at("products").at(0);
  EXPECT_EQ(product.at("dense").size(), 3u);
  ASSERT_EQ(product.at("packed").size(), 9u) << "two for each pattern, and a gradient of kept ones";
  for (const nlohmann::json& row : product.at("packed")) {
    EXPECT_GT(row.at("packed_ms"), 0.0);
    EXPECT_EQ(row.at("gain").at("pairs"), 7);
    EXPECT_LE(row.at("gain").at("low"), row.at("gain").at("median"));
    EXPECT_LE(row.at("gain").at("median"), row.at("gain").at("high"));
    EXPECT_EQ(row.at("search_ms").is_null(), row.at("pattern") == "90%");
  }
  EXPECT_DOUBLE_EQ(product.at("dense").at(0).at("flops"), 2.0 * 48 * 64 * 32);
}

TEST_F(SparseBench, GemmSaysWhatIsWrong) {
  const std::vector<std::string> gemm{"bench", "gemm", "device=cpu"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), gemm.begin(), gemm.end());
    return more;
  };
  expect_error(with({"--shapes", "64"}), "'64' is not OUTPUTSxINPUTS");
  expect_error(with({"--shapes", "64x0"}), "'64x0' is not OUTPUTSxINPUTS");
  expect_error(with({"--patterns", "3:4"}), "unknown pattern '3:4'; expected 2:4-transposable");
  expect_error(with({"--patterns", "100%"}), "unknown pattern '100%'");
  expect_error(with({"--patterns", "2:4", "--shapes", "64x30"}),
               "pattern 2:4 needs inputs in multiples of 4, got 64x30");
  expect_error(with({"--patterns", "2:4-transposable", "--shapes", "62x32"}),
               "needs outputs and inputs in multiples of 4, got 62x32");
  expect_error(with({"--tokens", "0"}), "--tokens");
}

// Where there is a GPU that packs.
TEST_F(SparseBench, GemmOnAGpuHasPeersAndOverheads) {
  Device device;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, device).usable ||
      device.generation < 80)
    GTEST_SKIP() << "no GPU that packs";
  const std::vector<std::string> gemm{"bench",    "gemm", "device=cuda", "--shapes", "256x128",
                                      "--tokens", "512",  "--seconds",   "0.01"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), gemm.begin(), gemm.end());
    return more;
  };
  const ProcessResult bench = twill(with({"--json", "g.json"}));
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out, "\nweight 256 x 128, 512 tokens\nproduct +pattern +cuBLASLt, ms ");
  expect_match(bench.out, "\nMVUE and packing +[\\d.]+ +[\\d.]+ +\\d+%\n");
  const nlohmann::json report = json("g.json");
  EXPECT_GT(report.at("copy_bytes_per_second"), 0.0);
  const nlohmann::json& products = report.at("shapes").at(0).at("products");
  ASSERT_EQ(products.size(), 2u);
  for (const nlohmann::json& product : products) {
    EXPECT_GT(product.at("gain").at("median"), 0.0);
    const nlohmann::json& peer = product.at("cusparselt");
    EXPECT_NE(peer.at("ms").is_null(), peer.at("reason").is_null());
  }
  EXPECT_EQ(report.at("all").at("products"), 2);
  expect_error(with({"--patterns", "90%"}), "leaves out the zeros of 2:4 patterns alone, got 90%");
  expect_error(with({"--shapes", "256x120"}), "does not pack 256x120");
}

TEST_F(SparseBench, FfnItemisesTheOverheads) {
  const ProcessResult bench =
      on_tiny_model({"bench", "ffn", "recipe=fst", "--seconds", "0", "--json", "f.json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out, "FFN 32 -> 128 -> 32, gelu-tanh, 64 tokens");
  expect_match(bench.out, "ms per step +dense +masked +packed +planned\n");
  expect_match(bench.out, "\nmask search +- +[\\d.]+ +[\\d.]+ ");
  expect_match(bench.out, "\npacking +- +- +[\\d.]+ ");
  expect_match(bench.out, "\nMVUE +- +[\\d.]+ +[\\d.]+ ");
  expect_match(bench.out, "\ndecay +- +[\\d.]+ +[\\d.]+ ");
  expect_match(bench.out, "new masks every 40 steps");
  const nlohmann::json report = json("f.json");
  ASSERT_EQ(report.at("variants").size(), 4u);
  EXPECT_DOUBLE_EQ(report.at("variants").at(0).at("gain"), 1.0);
  EXPECT_EQ(report.at("variants").at(2).at("ordinary_gain").at("pairs"), 7);
}

TEST_F(SparseBench, FfnTakesTheMomentOfTheRecipe) {
  const ProcessResult bench =
      on_tiny_model({"bench", "ffn", "recipe=mst", "--at", "0.5", "--seconds", "0"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out, "recipe mst, phase 1: topology of density 0.1");
  expect_match(bench.out, "an update of the topology every 13 steps");
  expect_error({"bench", "ffn", "device=cpu"}, "bench ffn: recipe dense is dense there");
  expect_error({"bench", "ffn", "recipe=fst", "--at", "0.95", "device=cpu"}, "dense there");
  expect_error({"bench", "ffn", "recipe=fst", "--at", "2"}, "--at");
}

TEST_F(SparseBench, BlockHasAttentionBesideTheFfn) {
  const ProcessResult bench =
      on_tiny_model({"bench", "block", "recipe=fst", "--seconds", "0", "--json", "b.json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out,
               "block of width 32, 2 heads, FFN 32 -> 128 -> 32, gelu-tanh, 2 x 32 tokens");
  expect_match(bench.out, "ms per step +dense +masked +packed +planned\n");
  expect_match(bench.out, "\nattention +[\\d.]+ +[\\d.]+ +[\\d.]+ ");
  expect_match(bench.out, "\nmask search +- +[\\d.]+ +[\\d.]+ ");
  expect_match(bench.out, "\nop, ms per step +dense +masked +packed +planned\n");
  expect_match(bench.out, "\nattention_backward +[\\d.]+ ");
  expect_match(bench.out, "\ntimes_packed +- +- +[\\d.]+ ");
  const nlohmann::json report = json("b.json");
  ASSERT_EQ(report.at("variants").size(), 4u);
  const nlohmann::json& packed = report.at("variants").at(2);
  EXPECT_EQ(packed.at("execution"), "packed");
  EXPECT_EQ(packed.at("ordinary_gain").at("pairs"), 7);
  EXPECT_GT(packed.at("op_ms").at("layer_norm_forward"), 0.0);
  EXPECT_GT(packed.at("work_ms").at("attention"), 0.0);
}

// A scope that names the head as well: a block has none.
TEST_F(SparseBench, BlockTakesEveryLayerOfItsOwn) {
  const ProcessResult bench =
      on_tiny_model({"bench", "block", "recipe=mst", "--at", "0.5", "--seconds", "0"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out, "recipe mst, phase 1: topology of density 0.1");
  expect_error({"bench", "block", "device=cpu"}, "bench block: recipe dense is dense there");
  expect_error({"bench", "black"}, "expected step, block, ffn, gemm, tokenizer, or op");
}

TEST_F(SparseBench, StepTakesTurnsWithADenseTrainer) {
  const ProcessResult bench = on_tiny_model({"bench", "step", "recipe=fst", "--against-dense",
                                             "--steps", "2", "--rounds", "6", "--json", "s.json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out, "recipe fst: 2:4-transposable weights.*; \\d of 4 matrices packed");
  expect_match(bench.out, "dense step +[\\d.]+ +\\d+ +median of 6 turns of [12] steps\n");
  expect_match(bench.out, "gain +[\\d.]+ +95 % interval [\\d.]+ to [\\d.]+\n");
  expect_match(bench.out, "rare work +[\\d.]+ +more for new masks, every 40 steps\n");
  const nlohmann::json report = json("s.json");
  EXPECT_EQ(report.at("gain").at("pairs"), 6);
  EXPECT_GT(report.at("gain_with_rare_work"), 0.0);
  expect_error({"bench", "step", "device=cpu", "--against-dense"}, "recipe dense is dense");
  expect_error({"bench", "step", "device=cpu", "recipe=fst", "--against-dense", "--at", "0.9"},
               "recipe fst is dense then");
}

TEST_F(SparseBench, StepTakesTheMomentOfTheRecipe) {
  const ProcessResult bench = on_tiny_model(
      {"bench", "step", "recipe=mst", "--at", "0.5", "recipe.execution=packed", "--steps", "2"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_match(bench.out, "plan     phase 0: 9 of 9 matrices packed\n");
  expect_match(bench.out, "\ntimes_packed +\\d+ ");
  expect_match(bench.out, "\nkept_gradient +\\d+ ");
}

TEST_F(SparseBench, TrainTellsItsPlan) {
  const std::vector<std::string> words{
      "train",      "recipe=static",       "train.steps=3",          "eval.windows=2",
      "run.name=p", "log.sample_tokens=0", "schedule.warmup_steps=1"};
  std::vector<std::string> packed = words;
  packed.emplace_back("recipe.execution=packed");
  const ProcessResult run = on_tiny_model(packed);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  expect_match(run.out, "\nplan     phase 0: 9 of 9 matrices packed\n");
  expect_match(run.out, "2 of ffn.input 128 x 32: packed forward, dgrad, wgrad\n");
  expect_match(run.out, "packed products leave zeros out, the others multiply them");
  std::vector<std::string> masked = words;
  std::ranges::replace(masked, std::string("run.name=p"), std::string("run.name=m"));
  masked.emplace_back("recipe.execution=masked");
  const ProcessResult judge = on_tiny_model(masked);
  ASSERT_EQ(judge.exit_code, 0) << judge.err;
  expect_match(judge.out, "\nplan     masked: products multiply the zeros too\n");
  expect_match(judge.out, "masked execution multiplies the zeros too");
}

}  // namespace
}  // namespace twill
