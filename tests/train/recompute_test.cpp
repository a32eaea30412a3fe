// SPDX-License-Identifier: Apache-2.0
// What is computed a second time gives the bits of the first.
#include <gtest/gtest.h>

#include "nn/recompute.h"
#include "ops/kernel_table.h"
#include "ops/products/times_packed.h"
#include "papers/recipe_run.h"
#include "sparsity/recipe/recipe.h"
#include "train/fake_run.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

std::int64_t activation_bytes(const TinyTrainer& tiny) {
  for (const MemoryLine& line : tiny.trainer.memory_table())
    if (line.region == "activations") return line.bytes;
  return 0;
}

// Losses and weights of every way to recompute, against keeping everything.
void expect_same_bits(const Settings& settings, int steps) {
  TinyTrainer keeps(settings);
  const std::vector<double> losses = keeps.losses(steps);
  for (const std::string_view name : kRecomputeNames) {
    Settings asked = settings;
    asked.push_back("train.recompute=" + std::string(name));
    TinyTrainer again(asked);
    EXPECT_EQ(again.losses(steps), losses) << name;
    EXPECT_EQ(again.weights(), keeps.weights()) << name;
  }
}

TEST(Recompute, ChangesNoBit) {
  expect_same_bits({"model.dropout=0.2"}, 4);
  expect_same_bits({"train.micro_batch=2", "train.batch_tokens=64"}, 3);
}

TEST(Recompute, ChangesNoBitOfAGatedModel) {
  expect_same_bits({"model.family=llama", "model.norm=rms", "model.positions=rotary",
                    "model.ffn.activation=swiglu", "model.bias=false"},
                   4);
}

// Selected activations keep their masks; sampled gradients draw the same numbers.
TEST(Recompute, ChangesNoBitOfAnyRecipe) {
  for (const BuiltInRecipe& recipe : built_in_recipes()) {
    SCOPED_TRACE(recipe.name);
    expect_same_bits(busy(std::string(recipe.name)), 24);
  }
}

// Packed products may keep the activation's slope, rounded, in place of its argument.
TEST(Recompute, ChangesNoBitOfKeptSlopes) {
  const Settings packed = busy("fst") + Settings{"recipe.execution=packed", "device=reference"};
  static int kept = 0;
  KernelTable counting = reference_table();
  counting.times_packed = [](const TimesPackedArgs& args, const Device& device, Queue& queue) {
    kept += args.keeps_slope;
    reference_table().times_packed(args, device, queue);
  };
  FakeRun(packed, counting).losses(1);
  EXPECT_EQ(kept, 4) << "forward and dgrad of the one FFN, of two micro-batches";
  expect_same_bits(packed, 4);
}

TEST(Recompute, SavesWhatItSays) {
  const std::int64_t all = activation_bytes(TinyTrainer());
  const auto with = [](const char* name) {
    return activation_bytes(TinyTrainer({std::string("train.recompute=") + name}));
  };
  // Two blocks of width w keep 34 w per token (embedding and final norm included), and ten numbers.
  EXPECT_LT(with("norm"), all);
  EXPECT_LT(with("activation"), all);
  EXPECT_LT(with("norm+activation"), std::min(with("norm"), with("activation")));
  EXPECT_LT(with("ffn"), with("activation"));
  EXPECT_LT(with("norm+ffn"), with("ffn"));
  EXPECT_LT(with("block"), with("norm+ffn"));
}

TEST(Recompute, NamesSayWhatIsKept) {
  EXPECT_TRUE(recompute_of("none").keeps_normed() && recompute_of("none").keeps_activated());
  EXPECT_FALSE(recompute_of("norm").keeps_normed());
  EXPECT_TRUE(recompute_of("norm").keeps_activated());
  EXPECT_FALSE(recompute_of("activation").keeps_activated());
  EXPECT_TRUE(recompute_of("activation").keeps_hidden());
  EXPECT_FALSE(recompute_of("norm+ffn").keeps_hidden() || recompute_of("norm+ffn").keeps_normed());
  EXPECT_FALSE(recompute_of("block").keeps_inside() || recompute_of("block").keeps_hidden());
}

}  // namespace
}  // namespace twill
