// SPDX-License-Identifier: Apache-2.0
#include "train/optimizer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ops/fill.h"
#include "support/expect_error.h"

namespace twill {
namespace {

struct Bench {
  explicit Bench(const OptimizerConfig& config) {
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
  const Bench bench(config);
  EXPECT_EQ(bench.slot(0).weight_decay, 0.3);
  EXPECT_EQ(bench.slot(1).weight_decay, 0.0);
}

TEST(Optimizer, LaterGroupsWin) {
  OptimizerConfig config;
  config.group = {{.match = "blocks.*", .lr_scale = 2.0, .weight_decay = 0.5},
                  {.match = "blocks.1.*", .lr_scale = 3.0, .weight_decay = 0.0}};
  const Bench bench(config);
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
  const Bench bench(config);
  EXPECT_EQ(bench.slot(0).lr_scale, 0.5);
  EXPECT_EQ(bench.slot(0).weight_decay, 0.3);
  config.group[0].match = "head.*";
  expect_error([&] { const Bench refused(config); },
               "match = \"head.*\" fits no parameter; names are like blocks.1.ffn.weight");
}

TEST(Optimizer, NormCoversAllGradients) {
  const Bench bench({});
  EXPECT_DOUBLE_EQ(bench.optimizer->gradient_norm(bench.context), std::sqrt(14 * 4.0));
  *bench.builder.parameters()[2].gradient.as<float>() = NAN;
  EXPECT_TRUE(std::isnan(bench.optimizer->gradient_norm(bench.context)));
}

TEST(Optimizer, ClipsToTheLimit) {
  OptimizerConfig config;
  config.clip = 1.0;
  const Bench bench(config);
  const double norm = bench.optimizer->gradient_norm(bench.context);
  bench.optimizer->apply(bench.context,
                         {.lr = 0.1, .scale = bench.optimizer->clip_scale(norm), .update = 1});
  // The first moment after one update is (1 - beta1) times the clipped gradient.
  const double want = 0.1 * 2.0 / norm;
  EXPECT_NEAR(*bench.slot(0).m.as<float>(), want, 4e-7 * want);
}

}  // namespace
}  // namespace twill
