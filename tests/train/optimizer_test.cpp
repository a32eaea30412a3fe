// SPDX-License-Identifier: Apache-2.0
#include "train/step/optimizer.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/numbers/fill.h"
#include "ops/transfer.h"
#include "support/expect_error.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

struct OptimizerBench {
  explicit OptimizerBench(const OptimizerConfig& config) {
    builder.parameter("blocks.0.ffn.weight", {2, 3}, Init::kOnes);
    builder.parameter("blocks.0.ffn.bias", {4}, Init::kOnes);
    builder.parameter("blocks.1.ffn.weight", {2, 2}, Init::kOnes);
    optimizer = std::make_unique<Optimizer>(builder, config);
    builder.commit();
    for (Parameter& parameter : builder.parameters()) fill(context, {parameter.gradient, 2.0});
  }
  const Optimizer::Slot& slot(std::size_t index) const { return optimizer->slots()[index]; }

  Context context{cpu_table(), 1};
  Builder builder{context, {}};
  std::unique_ptr<Optimizer> optimizer;
};

TEST(Optimizer, DecaysMatricesAndSparesVectors) {
  OptimizerConfig config;
  config.weight_decay = 0.3;
  const OptimizerBench bench(config);
  EXPECT_EQ(bench.slot(0).weight_decay, 0.3);
  EXPECT_EQ(bench.slot(1).weight_decay, 0.0);
}

TEST(Optimizer, LaterGroupsWin) {
  OptimizerConfig config;
  config.group = {{.match = "blocks.*", .lr_scale = 2.0, .weight_decay = 0.5},
                  {.match = "blocks.1.*", .lr_scale = 3.0, .weight_decay = 0.0}};
  const OptimizerBench bench(config);
  EXPECT_EQ(bench.slot(0).lr_scale, 2.0);
  EXPECT_EQ(bench.slot(1).weight_decay, 0.5);
  EXPECT_EQ(bench.slot(2).lr_scale, 3.0);
  EXPECT_EQ(bench.slot(2).weight_decay, 0.0);
}

TEST(Optimizer, GroupsLeaveAloneWhatTheyDoNotName) {
  OptimizerConfig config;
  config.weight_decay = 0.3;
  OptimizerGroup slower;
  slower.match = "*.0.*";
  slower.lr_scale = 0.5;
  config.group = {slower};
  const OptimizerBench bench(config);
  EXPECT_EQ(bench.slot(0).lr_scale, 0.5);
  EXPECT_EQ(bench.slot(0).weight_decay, 0.3);
  config.group[0].match = "head.*";
  expect_error([&] { const OptimizerBench refused(config); },
               "match = \"head.*\" fits no parameter; names are like blocks.1.ffn.weight");
}

TEST(Optimizer, NormCoversAllGradients) {
  const OptimizerBench bench({});
  EXPECT_DOUBLE_EQ(bench.optimizer->gradient_norm(bench.context), std::sqrt(14 * 4.0));
  *bench.builder.parameters()[2].gradient.as<float>() = NAN;
  EXPECT_TRUE(std::isnan(bench.optimizer->gradient_norm(bench.context)));
}

TEST(Optimizer, ClipsToTheLimit) {
  OptimizerConfig config;
  config.clip = 1.0;
  const OptimizerBench bench(config);
  const double norm = bench.optimizer->gradient_norm(bench.context);
  bench.optimizer->apply(bench.context,
                         {.lr = 0.1, .scale = bench.optimizer->clip_scale(norm), .update = 1});
  // The first moment after one update is (1 - beta1) times the clipped gradient.
  const double want = 0.1 * 2.0 / norm;
  EXPECT_NEAR(*bench.slot(0).m.as<float>(), want, 4e-7 * want);
}

std::int64_t optimizer_bytes(const Builder& builder) {
  for (const MemoryLine& line : builder.memory_table())
    if (line.region == "optimizer") return line.bytes;
  return 0;
}

TEST(Optimizer, Bf16MomentsTakeHalfTheMemory) {
  const Context context(cpu_table(), 1);
  OptimizerConfig config;
  std::vector<std::int64_t> bytes;
  for (const char* moments : {"f32", "bf16"}) {
    Builder builder(context, {});
    builder.parameter("weight", {64, 32}, Init::kOnes);
    config.moments = moments;
    const Optimizer optimizer(builder, config);
    bytes.push_back(optimizer_bytes(builder));
  }
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{2 * 4 * 64 * 32, 2 * 2 * 64 * 32}));
}

// Two slots with equal gradients, one of which has the other's place: the draws differ by slot, by
// update and by seed.
TEST(Optimizer, RoundsEveryTensorAndUpdateByDrawsOfItsOwn) {
  const Context context(cpu_table(), 1);
  OptimizerConfig config;
  config.moments = "bf16";
  const auto moments = [&](std::uint64_t seed, std::int64_t update) {
    Builder builder(context, {});
    for (const char* name : {"a", "b"}) builder.parameter(name, {256}, Init::kOnes);
    Optimizer optimizer(builder, config, seed);
    builder.commit();
    for (Parameter& parameter : builder.parameters()) fill(context, {parameter.gradient, 2.1});
    optimizer.apply(context, {.lr = 0.1, .update = update});
    std::vector<std::vector<float>> all;
    for (const Optimizer::Slot& slot : optimizer.slots())
      all.push_back(host_floats(context, slot.m));
    return all;
  };
  const auto one = moments(1, 1);
  EXPECT_NE(one[0], one[1]);
  EXPECT_NE(one, moments(1, 2));
  EXPECT_NE(one, moments(2, 1));
  EXPECT_EQ(one, moments(1, 1));
}

TEST(Optimizer, RecipesThatUseMomentsNeedThemInF32) {
  const auto config = [](const std::string& recipe, const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{"recipe.name=" + recipe, "train.steps=2000"};
    settings.insert(settings.end(), more.begin(), more.end());
    return tiny_config(settings);
  };
  const std::string bf16 = "optimizer.moments=bf16";
  for (const char* recipe : {"step", "rigl"}) EXPECT_NO_THROW(config(recipe));
  expect_error([&] { config("step", {bf16}); },
               "recipe step watches the second moments (early_end) and needs them in f32, but "
               "optimizer.moments = \"bf16\": leave the key out");
  expect_error(
      [&] { config("rigl", {bf16}); },
      "recipe rigl sets the moments of regrown weights (optimizer.regrown) and needs them");
  EXPECT_NO_THROW(config("dense", {bf16}));
  expect_error([&] { config("dense", {"optimizer.moments=f16"}); }, "bf16");
}

}  // namespace
}  // namespace twill
