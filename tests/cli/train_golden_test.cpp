// SPDX-License-Identifier: Apache-2.0
// `twill train` computes what it computed when tests/golden/train was recorded, to the bit: every
// recipe on both CPU backends, masked and packed, with one micro-batch a step and with four; and
// the parts of recipes and the options of training that no built-in recipe takes.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/process.h"
#include "cli/train_golden.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kPlans = TWILL_SOURCE_DIR "/tests/golden/plans/";

Words joined(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Intervals short enough that masks, topologies and phases move within twenty steps.
const std::map<std::string, Words>& recipes() {
  static const std::map<std::string, Words> all{
      {"dense", {}},
      {"fst", {"recipe.phase.0.weights.refresh=3", "recipe.phase.0.decay.lambda=1e-2"}},
      {"mst",
       {"recipe.phase.0.topology.interval=2", "recipe.phase.0.until=0.3",
        "recipe.phase.1.topology.interval=3", "recipe.phase.1.until=0.6",
        "recipe.phase.2.topology.interval=2"}},
      {"relu2-24",
       {"model.ffn.activation=relu2", "recipe.phase.0.until=0.1",
        "recipe.phase.1.activations.refresh=4"}},
      {"rigl", {"recipe.phase.0.topology.interval=3"}},
      {"s-ste", {}},
      {"s-ste-fp8", {}},
      {"set", {"recipe.phase.0.topology.interval=3"}},
      {"sr-ste", {"recipe.phase.0.decay.lambda=1e-2"}},
      {"sr-ste-weights", {"recipe.phase.0.decay.lambda=1e-1"}},
      {"static", {}},
      {"ste", {}},
      {"step", {"optimizer.beta2=0.8", "recipe.phase.0.early_end.below=1e6"}},
      {"venom",
       {"model.ffn.activation=relu2", "recipe.phase.0.until=0.1", "recipe.phase.1.until=0.8",
        "recipe.phase.1.activations.v=8", "recipe.phase.1.activations.refresh=4"}}};
  return all;
}

// The model of the cpu has more tokens, rows and columns than one block of its packed products.
Words model_of(const std::string& device) {
  if (device == "reference")
    return {"model.layers=2",   "model.width=16",      "model.heads=2",
            "model.context=16", "train.micro_batch=2", "device=reference"};
  return {"model.layers=2",  "model.width=48",      "model.heads=2", "model.context=32",
          "model.vocab=320", "train.micro_batch=3", "device=cpu"};
}

std::string four_micro_batches(const std::string& device) {
  return device == "reference" ? "train.batch_tokens=128" : "train.batch_tokens=384";
}

Words of_recipe(const std::string& name, const Words& more = {}) {
  return joined(joined({"recipe=" + name}, recipes().at(name)), more);
}

Words llama_of(const std::string& recipe, const Words& more = {}) {
  return joined({"model=tiny-llama", "model.kv_heads=1", "model.ffn.width=64"},
                of_recipe(recipe, more));
}

using Runs = std::map<std::string, Words>;

Runs llamas() {
  Runs runs;
  for (const char* recipe : {"dense", "fst", "mst", "rigl", "s-ste", "s-ste-fp8", "step"})
    runs[recipe] = llama_of(recipe);
  runs["fst-geglu"] = llama_of("fst", {"model.ffn.activation=geglu-tanh"});
  return runs;
}

// What the model, the optimizer and the schedule may be told.
Runs options() {
  return {
      {"bias-off", of_recipe("s-ste", {"model.bias=false", "model.norm=rms"})},
      {"clip-all", of_recipe("fst", {"optimizer.clip=0.05"})},
      {"clip-none", of_recipe("fst", {"optimizer.clip=0"})},
      {"dropout-dense", of_recipe("dense", {"model.dropout=0.1"})},
      {"dropout-fst", of_recipe("fst", {"model.dropout=0.2"})},
      {"dropout-mst", of_recipe("mst", {"model.dropout=0.2"})},
      {"gelu", of_recipe("ste", {"model.ffn.activation=gelu", "model.positions=rotary"})},
      {"group",
       of_recipe("fst", {"optimizer.group.0.match=*.ffn.*", "optimizer.group.0.lr_scale=0.5",
                         "optimizer.group.0.weight_decay=0.3"})},
      {"linear", of_recipe("dense", {"schedule.kind=linear", "train.sequence=8"})},
      {"moments-dense", of_recipe("dense", {"optimizer.moments=bf16"})},
      {"moments-fst", of_recipe("fst", {"optimizer.moments=bf16"})},
      {"moments-s-ste", of_recipe("s-ste", {"optimizer.moments=bf16"})},
      {"untied-dense", of_recipe("dense", {"model.tied_head=false"})},
      {"untied-fst", of_recipe("fst", {"model.tied_head=false", "recipe.layers=all-linear"})},
      {"untied-mst", of_recipe("mst", {"model.tied_head=false"})},
      {"virtual", of_recipe("dense", {"recipe.health.virtual_mask=2:4-transposable",
                                      "recipe.health.activations=true"})},
      {"wsd", of_recipe("s-ste", {"schedule.kind=wsd", "optimizer.weight_decay=0"})},
  };
}

// Products with rounded operands; of the cpu alone.
Runs rounded() {
  Runs runs;
  for (const char* recipe : {"dense", "fst", "mst", "s-ste", "venom"})
    runs[recipe] = of_recipe(recipe, {"train.precision=bf16"});
  runs["llama-fst"] = llama_of("fst", {"train.precision=bf16", "optimizer.moments=bf16"});
  return runs;
}

Runs recomputed() {
  Runs runs;
  for (const char* what : {"norm", "activation", "norm+activation", "ffn", "norm+ffn", "block"}) {
    const std::string setting = std::string("train.recompute=") + what;
    runs[std::string("fst-") + what] = of_recipe("fst", {"model.dropout=0.1", setting});
    runs[std::string("llama-fst-") + what] = llama_of("fst", {setting});
  }
  for (const char* recipe : {"dense", "mst", "relu2-24", "venom"})
    runs[std::string(recipe) + "-block"] = of_recipe(recipe, {"train.recompute=block"});
  return runs;
}

// Patterns of weights and activations, estimators and attention.
Runs patterns() {
  const auto ste = [](const Words& more) { return of_recipe("ste", more); };
  const auto s_ste = [](const Words& more) { return of_recipe("s-ste", more); };
  const auto venom = [](const Words& more) { return of_recipe("venom", more); };
  return {
      {"all-linear", of_recipe("fst", {"recipe.layers=all-linear"})},
      {"attention-fixed", ste({"recipe.phase.0.attention.mask=fixed"})},
      {"attention-local", ste({"recipe.phase.0.attention.mask=local"})},
      {"attention-strided",
       ste({"recipe.phase.0.attention.mask=strided", "recipe.phase.0.attention.stride=3"})},
      {"axis-outputs", ste({"recipe.phase.0.weights.axis=outputs"})},
      {"centroid",
       venom({"recipe.phase.1.activations.order=centroid", "recipe.phase.1.activations.m=16"})},
      {"decay-weights", of_recipe("fst", {"recipe.phase.0.decay.on=weights"})},
      {"fp8", s_ste({"recipe.phase.0.quantise.format=fp8"})},
      {"greedy",
       ste({"recipe.phase.0.weights.pattern=2:4-greedy", "recipe.phase.0.weights.refresh=2"})},
      {"one-layer", ste({"recipe.layers=blocks.1.ffn.input"})},
      {"scale-keep-l1", s_ste({"recipe.phase.0.weights.scale=keep-l1"})},
      {"scale-recomputed", s_ste({"recipe.phase.0.weights.scale=recomputed"})},
      {"two-draw", s_ste({"recipe.phase.0.wgrad.estimator=mvue-two-draw"})},
      {"venom-as-is",
       venom({"recipe.phase.1.activations.order=as-is", "recipe.phase.1.activations.clusters=false",
              "recipe.phase.1.activations.transposed=V:2:M"})},
      {"weights-v2m", ste({"recipe.phase.0.weights.pattern=V:2:M", "recipe.phase.0.weights.v=8",
                           "recipe.phase.0.weights.m=8"})},
  };
}

// How topologies start, move and are trained.
Runs topologies() {
  const auto rigl = [](const Words& more) { return of_recipe("rigl", more); };
  return {
      {"anneal-phase",
       rigl({"recipe.phase.0.topology.anneal=phase", "recipe.phase.0.topology.anneal_turn=0.5"})},
      {"apply", rigl({"recipe.phase.0.optimizer.on_update=apply"})},
      {"mest",
       rigl({"recipe.phase.0.topology.drop=mest", "recipe.phase.0.topology.mest_lambda=1.0"})},
      {"mixed", rigl({"recipe.phase.0.topology.grow=mixed",
                      "recipe.phase.0.topology.distribution=uniform"})},
      {"regrown-keep", rigl({"recipe.phase.0.optimizer.regrown=keep"})},
      {"regrown-mean", rigl({"recipe.phase.0.optimizer.regrown=layer-mean",
                             "recipe.phase.0.topology.start=magnitude"})},
      {"sensitivity", rigl({"recipe.phase.0.topology.drop=sensitivity"})},
  };
}

// Files as a run keeps them: fst_partly.toml was measured, the others have choices of ours.
Runs plans() {
  const auto with = [](const std::string& recipe, const std::string& plan) {
    return of_recipe(recipe, {"recipe.execution=fastest", "plan=" + (kPlans + plan)});
  };
  return {
      {"fst-off", with("fst", "fst_off.toml")},       {"fst-on", with("fst", "fst_on.toml")},
      {"fst-partly", with("fst", "fst_partly.toml")}, {"mst-on", with("mst", "mst_on.toml")},
      {"venom-on", with("venom", "venom_on.toml")},
  };
}

struct GoldenGroup {
  std::string name;
  std::string device;
};

// Every run of a group, by the key of its line.
Runs runs_of(const GoldenGroup& group) {
  static const std::map<std::string, Runs> kOthers{
      {"llama", llamas()},         {"options", options()},      {"patterns", patterns()},
      {"plans", plans()},          {"recompute", recomputed()}, {"rounded", rounded()},
      {"topologies", topologies()}};
  const std::string four = four_micro_batches(group.device);
  Runs runs;
  const auto add = [&](const std::string& name, const Words& settings, const char* execution,
                       bool has_four) {
    Words all = joined(model_of(group.device), settings);
    if (group.name != "plans") all.push_back(std::string("recipe.execution=") + execution);
    if (has_four) all.push_back(four);
    // More threads change no bit, and cost where cores are few.
    all.push_back(has_four ? "threads=2" : "threads=1");
    runs[fmt::format("{}/{}/{}/x{}", name, group.device, execution, has_four ? 4 : 1)] = all;
  };
  if (recipes().contains(group.name)) {
    for (const char* execution : {"masked", "packed"})
      for (const bool has_four : {false, true})
        add(group.name, of_recipe(group.name), execution, has_four);
    return runs;
  }
  for (const auto& [name, settings] : kOthers.at(group.name)) {
    const std::string full = group.name + "-" + name;
    if (group.name == "plans") {
      add(full, settings, "auto", false);
    } else {
      add(full, settings, "masked", false);
      // Nothing is packed where operands are rounded.
      if (group.device == "cpu")
        add(full, settings, group.name == "rounded" ? "masked" : "packed", true);
    }
  }
  return runs;
}

std::vector<GoldenGroup> groups() {
  std::vector<GoldenGroup> all;
  for (const char* device : {"cpu", "reference"}) {
    for (const auto& [recipe, more] : recipes()) all.push_back({recipe, device});
    for (const char* other : {"llama", "options", "patterns", "topologies"})
      all.push_back({other, device});
  }
  for (const char* other : {"plans", "recompute", "rounded"}) all.push_back({other, "cpu"});
  return all;
}

// As it can be pasted into a shell.
std::string command_of(const Words& words) {
  std::string command = "twill";
  for (const std::string& word : words)
    command += word.find('*') == std::string::npos ? " " + word : " '" + word + "'";
  return command;
}

class TrainGolden : public testing::TestWithParam<GoldenGroup> {};

TEST_P(TrainGolden, RepeatsItsBits) {
  const GoldenFile file("train", GetParam().device);
  if (const std::string reason = file.why_not(); !reason.empty()) GTEST_SKIP() << reason;
  const Words common{"train",
                     "run.name=run",
                     "train.steps=20",
                     "optimizer.lr=1e-2",
                     "schedule.warmup_steps=2",
                     "eval.every=7",
                     "eval.windows=2",
                     "recipe.health.every=3",
                     "checkpoint.every=0",
                     "log.sample_tokens=0"};
  // Several at a time: of its 0.2 s a run sleeps the larger part.
  struct Started {
    std::string key;
    Words words;
    std::unique_ptr<TempDir> dir = std::make_unique<TempDir>();
    std::unique_ptr<Process> process =
        std::make_unique<Process>(words, ProcessOptions{.folder = dir->path()});
  };
  std::deque<Started> started;
  const auto check_first = [&] {
    const Started& run = started.front();
    const ProcessResult result = run.process->wait();
    EXPECT_EQ(result.exit_code, 0) << run.key << ": " << result.err;
    if (result.exit_code == 0)
      file.check(run.key, record_of(*run.dir / "runs/run"), command_of(run.words));
    started.pop_front();
  };
  for (const auto& [key, settings] : runs_of(GetParam())) {
    if (started.size() == 3) check_first();
    started.push_back({.key = key, .words = joined(common, settings)});
  }
  while (!started.empty()) check_first();
}

INSTANTIATE_TEST_SUITE_P(Runs, TrainGolden, testing::ValuesIn(groups()), [](const auto& group) {
  std::string name = group.param.name + "_" + group.param.device;
  std::ranges::replace(name, '-', '_');
  return name;
});

// Names of `twill recipes`: what begins a line.
TEST(TrainGoldens, HaveEveryRecipe) {
  const TempDir dir;
  const ProcessResult result = run_twill({"recipes"}, {.folder = dir.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::set<std::string> listed, here;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line) && !line.empty();)
    if (line[0] != ' ') listed.insert(line.substr(0, line.find(' ')));
  for (const auto& [recipe, more] : recipes()) here.insert(recipe);
  EXPECT_EQ(here, listed);
}

// Whatever machine this is: the file of the reference, and those of every instruction set.
TEST(TrainGoldens, HaveNoLinesOfOtherRuns) {
  std::map<std::string, std::set<std::string>> made;
  for (const GoldenGroup& group : groups())
    for (const auto& [key, settings] : runs_of(group)) made[group.device].insert(key);
  const auto recorded = golden_keys("train");
  EXPECT_TRUE(recorded.contains("reference.txt"));
  EXPECT_GE(recorded.size(), 2u) << "those of the reference, and of one CPU at least";
  for (const auto& [file, keys] : recorded)
    for (const std::string& key : keys)
      EXPECT_TRUE(made[file == "reference.txt" ? "reference" : "cpu"].contains(key))
          << "tests/golden/train/" << file << ": no run makes " << key;
}

}  // namespace
}  // namespace twill
