// SPDX-License-Identifier: Apache-2.0
// A session in memory, through the headers that users are promised.
#include "twill/session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/library/tiny_session.h"

namespace twill {
namespace {

TEST(SessionInMemory, RefusesKeysThatItHasNoUseFor) {
  using Refused = std::pair<std::string, std::string_view>;
  for (const Refused& refused : std::vector<Refused>{
           {"run.name=a", "run.name cannot be set: a session in memory has no folder"},
           {"run.dir=runs", "run.dir cannot be set"},
           {" checkpoint.every = 200", "checkpoint.every cannot be set: a session in memory saves"},
           {"log.every=3", "log.every cannot be set: the library prints nothing"}})
    expect_error([&] { Session(in_memory({refused.first})); }, refused.second);
  const TempDir dir;
  const std::string file = dir.write("c.toml", "[checkpoint]\nkeep = 7\n");
  expect_error([&] { Session({.settings = in_memory(), .config_file = file}); },
               "checkpoint.keep cannot be set");
  // Every other key is either read here or refused by whoever reads it.
  expect_error([] { Session(in_memory({"train.stops=3"})); }, "train.stops");
  expect_error([] { Session(in_memory({"data.hash=0"})); }, "");
}

TEST(SessionInMemory, StepsLikeATrainerAndReportsThem) {
  TinyTrainer trainer;
  Session session(in_memory());
  EXPECT_EQ(session.validation_loss(), trainer.trainer.evaluate());
  std::vector<std::int64_t> evaluated;
  session.train([&](const StepReport& report) {
    const StepResult expected = trainer.trainer.step();
    EXPECT_EQ(report.step, expected.step);
    EXPECT_EQ(report.loss, expected.loss);
    EXPECT_EQ(report.learning_rate, expected.lr);
    EXPECT_EQ(report.gradient_norm, expected.grad_norm);
    EXPECT_EQ(report.tokens, 64 * report.step);
    EXPECT_GT(report.tokens_per_second, 0.0);
    EXPECT_FALSE(report.health.has_value());
    if (!report.validation_loss) return true;
    evaluated.push_back(report.step);
    EXPECT_EQ(*report.validation_loss, trainer.trainer.evaluate());
    return true;
  });
  EXPECT_EQ(evaluated, (std::vector<std::int64_t>{4, 8, 12}));
  EXPECT_TRUE(session.done());
  expect_error([&] { session.step(); }, "all 12 steps are taken");
}

TEST(SessionInMemory, ReportsHealthOfASparseRecipe) {
  Session session(in_memory({"recipe=ste", "recipe.health.every=3"}));
  std::vector<std::int64_t> sampled;
  for (std::int64_t step = 1; step <= 7; ++step) {
    const std::optional<HealthReport> health = session.step().health;
    if (!health) continue;
    sampled.push_back(step);
    ASSERT_EQ(health->layers.size(), 4u);
    EXPECT_EQ(health->layers[0].name, "blocks.0.ffn.input");
    EXPECT_GT(health->overall.kept_energy, 0.5);
    EXPECT_LT(health->overall.kept_energy, 1.0);
  }
  EXPECT_EQ(sampled, (std::vector<std::int64_t>{1, 4, 7}));
}

TEST(SessionInMemory, StopsBeforeALossThatIsNotFinite) {
  Session session(in_memory({"optimizer.clip=0"}));
  session.write_weight(
      "blocks.0.ffn.input.weight",
      std::vector<float>(session.read_weight("blocks.0.ffn.input.weight").size(), 1e38f));
  expect_error([&] { session.step(); }, "is not finite; the session stands before it");
  EXPECT_EQ(session.steps_done(), 0);
  Session skips(in_memory({"train.on_nonfinite=skip"}));
  skips.write_weight(
      "blocks.0.ffn.input.weight",
      std::vector<float>(skips.read_weight("blocks.0.ffn.input.weight").size(), 1e38f));
  EXPECT_FALSE(skips.step().finite);
  EXPECT_EQ(skips.steps_done(), 1);
}

TEST(SessionInMemory, FollowsALearningRateOfItsOwn) {
  SessionOptions options{.settings = in_memory()};
  options.learning_rate = [](std::int64_t step) { return step == 2 ? 0.0 : 1e-3; };
  Session session(options);
  EXPECT_EQ(session.step().learning_rate, 1e-3);
  const std::vector<float> before = session.read_weight("blocks.0.ffn.input.weight");
  EXPECT_EQ(session.step().learning_rate, 0.0);
  EXPECT_EQ(session.read_weight("blocks.0.ffn.input.weight"), before);
  options.learning_rate = [](std::int64_t) { return std::nan(""); };
  Session lost(options);
  expect_error([&] { lost.step(); }, "learning rate of step 1 is nan");
}

TEST(SessionInMemory, ReadsAndWritesWeights) {
  Session session(in_memory());
  const std::string name = "blocks.1.ffn.output.weight";
  std::vector<WeightInfo> all = session.weights();
  const auto found = std::ranges::find(all, name, &WeightInfo::name);
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->shape, (std::vector<std::int64_t>{16, 64}));
  std::vector<float> values = session.read_weight(name);
  ASSERT_EQ(values.size(), 16u * 64u);
  const std::vector<std::int32_t> ids{1, 2, 3};
  const std::vector<float> logits = session.logits(ids);
  EXPECT_EQ(static_cast<std::int64_t>(logits.size()), session.vocab());
  for (float& value : values) value += 0.5f;
  session.write_weight(name, values);
  EXPECT_EQ(session.read_weight(name), values);
  EXPECT_NE(session.logits(ids), logits);
  expect_error([&] { session.read_weight("nobody"); }, "the model has no weight \"nobody\"");
  expect_error([&] { session.write_weight(name, std::vector<float>(3)); }, "1024 values, got 3");
  values[7] = std::numeric_limits<float>::infinity();
  expect_error([&] { session.write_weight(name, values); }, "value 7 is not finite");
  expect_error([&] { session.logits({}); }, "logits need 1 to 16 ids, got 0");
  expect_error([&] { session.logits(std::vector<std::int32_t>{256}); }, "256");
}

// Masks follow from weights: they are set before the first of them, or not at all.
TEST(SessionInMemory, WeightsOfASparseRecipeAreSetFirst) {
  const std::string name = "blocks.0.ffn.input.weight";
  Session session(in_memory({"recipe=ste"}));
  std::vector<float> values = session.read_weight(name);
  session.write_weight(name, values);
  session.validation_loss();
  expect_error([&] { session.write_weight(name, values); }, "cannot be set any more");
}

}  // namespace
}  // namespace twill
