// SPDX-License-Identifier: Apache-2.0
// train.precision = "bf16" on the cpu: operands of products are rounded, nothing else.
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/expect_error.h"
#include "train/planned_run.h"

namespace twill {
namespace {

class RoundedTraining : public testing::Test {
 protected:
  Outcome start(const std::string& name, std::vector<std::string> more,
                std::int64_t stop_after = -1) {
    more.insert(more.end(), {"run.name=" + name, "run.dir=" + dir_.path()});
    StopAfter listener(stop_after);
    return run_training({.config_file = "", .overrides = tiny_settings(more), .resume = ""},
                        listener, listener.stop);
  }
  Outcome resume(const std::string& name, std::vector<std::string> overrides = {}) {
    overrides.push_back("run.dir=" + dir_.path());
    StopAfter listener(-1);
    return run_training({.config_file = "", .overrides = overrides, .resume = name}, listener,
                        listener.stop);
  }
  std::string file(const std::string& run, const std::string& name) const {
    return content_of(dir_ / (run + "/" + name));
  }
  std::string weights(const std::string& run) const {
    return file(run, "checkpoints/step-00000012/model.safetensors");
  }
  std::string state(const std::string& run) const {
    return file(run, "checkpoints/step-00000012/state.safetensors");
  }
  bool config_has(const std::string& run, const std::string& line) const {
    return file(run, "config.toml").find(line) != std::string::npos;
  }
  std::vector<double> validation_losses(const std::string& run) const {
    std::istringstream lines(file(run, "metrics.jsonl"));
    std::vector<double> losses;
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line);
      if (json.contains("val_loss")) losses.push_back(json.at("val_loss"));
    }
    return losses;
  }

  TempDir dir_;
  OwnCache cache_{dir_ / "cache"};
};

const char* const kBf16 = "train.precision=bf16";

TEST_F(RoundedTraining, LearnsOtherWeightsThanF32AndAsMuch) {
  EXPECT_EQ(start("rounded", {kBf16}), Outcome::kDone);
  EXPECT_EQ(start("plain", {}), Outcome::kDone);
  ASSERT_FALSE(weights("plain").empty());
  EXPECT_NE(weights("rounded"), weights("plain"));
  const std::vector<double> rounded = validation_losses("rounded");
  const std::vector<double> plain = validation_losses("plain");
  EXPECT_NE(rounded.front(), plain.front()) << "the first evaluation has rounded operands as well";
  EXPECT_NE(rounded.back(), plain.back());
  const double learnt = plain.front() - plain.back();
  EXPECT_GT(learnt, 0.0);
  // Rounding moves a loss by 2^-9 of what it is made of: far less than a tenth of what is learnt.
  EXPECT_NEAR(rounded.back(), plain.back(), 0.1 * learnt);
}

TEST_F(RoundedTraining, StoppedAndResumedEqualsUninterrupted) {
  EXPECT_EQ(start("whole", {kBf16}), Outcome::kDone);
  EXPECT_EQ(start("stopped", {kBf16}, 7), Outcome::kInterrupted);
  EXPECT_EQ(resume("stopped", {"threads=2"}), Outcome::kDone);
  ASSERT_FALSE(weights("whole").empty());
  EXPECT_EQ(weights("stopped"), weights("whole"));
  EXPECT_EQ(state("stopped"), state("whole"));
  EXPECT_EQ(validation_losses("stopped"), validation_losses("whole"));
}

TEST_F(RoundedTraining, StaysInTheRunsConfig) {
  start("rounded", {kBf16}, 3);
  EXPECT_TRUE(config_has("rounded", "precision = \"bf16\""));
  expect_error([&] { resume("rounded", {"train.precision=f32"}); },
               "with train.precision = \"f32\": it was started with \"bf16\"");
  EXPECT_EQ(resume("rounded"), Outcome::kDone);
  EXPECT_TRUE(config_has("rounded", "precision = \"bf16\""));
  start("plain", {"train.steps=1"});
  EXPECT_TRUE(config_has("plain", "precision = \"f32\"")) << "auto";
}

// Packed products take operands as they are: nothing here could round them on the way in.
TEST_F(RoundedTraining, HasNoPackedProducts) {
  const std::vector<std::string> packed{kBf16, "recipe=fst", "recipe.execution=packed"};
  expect_error([&] { start("packed", packed); }, "recipe.execution = \"packed\": the cpu backend");
  expect_error([&] { start("packed", packed); }, "use \"masked\" or \"auto\"");
  const std::string plan = dir_.write("plan.toml", toml_of(auto_plan(true)));
  expect_error(
      [&] {
        start("planned", {kBf16, "recipe=fst", "recipe.execution=fastest", "plan=" + plan});
      },
      "plan.toml has packed products, which the cpu backend does not have; leave `plan` "
      "out to have it measured here");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "packed"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "planned"));
  EXPECT_EQ(start("masked", {kBf16, "recipe=fst"}), Outcome::kDone);
}

// As written it runs with dense operands, masked, and is not refused.
TEST_F(RoundedTraining, RunsNamedRecipesAsWritten) {
  for (const char* recipe : {"fst", "s-ste", "static"}) {
    const std::string name = recipe;
    EXPECT_EQ(start(name, {kBf16, "recipe=" + name, "recipe.execution=auto"}), Outcome::kDone);
    for (const PlanEntry& entry : read_plan(dir_ / (name + "/plan.toml")).layer) {
      EXPECT_TRUE(entry.on) << name;
      EXPECT_FALSE(entry.is_packed()) << name;
    }
  }
}

// So fastest turns every layer off, which is dense training, to the bit; also behind a resume.
TEST_F(RoundedTraining, FastestIsDense) {
  const std::vector<std::string> automatic{kBf16, "recipe=fst", "recipe.execution=fastest"};
  EXPECT_EQ(start("dense", {kBf16}), Outcome::kDone);
  EXPECT_EQ(start("auto", automatic), Outcome::kDone);
  const Plan plan = read_plan(dir_ / "auto/plan.toml");
  ASSERT_EQ(plan.layer.size(), 2U);
  for (const PlanEntry& entry : plan.layer) EXPECT_FALSE(entry.on) << entry.outputs;
  ASSERT_EQ(validation_losses("dense").size(), 4U);
  EXPECT_EQ(validation_losses("auto"), validation_losses("dense"));
  EXPECT_EQ(start("stopped", automatic, 7), Outcome::kInterrupted);
  EXPECT_EQ(resume("stopped"), Outcome::kDone);
  EXPECT_EQ(weights("stopped"), weights("auto"));
  EXPECT_EQ(state("stopped"), state("auto"));
}

TEST(RoundedContext, IsForTrainingOnTheCpu) {
  const RunConfig rounded = tiny_config({kBf16});
  const Context context = open_context(rounded);
  EXPECT_EQ(&context.kernels(), &rounded_cpu_table());
  EXPECT_EQ(storage_type(rounded, context), DType::kF32);
  EXPECT_EQ(&open_context(rounded, Use::kInference).kernels(), &cpu_table());
  for (const char* precision : {"train.precision=auto", "train.precision=f32"})
    EXPECT_EQ(&open_context(tiny_config({precision})).kernels(), &cpu_table()) << precision;
  const RunConfig reference = tiny_config({kBf16, "device=reference"});
  expect_error([&] { (void)storage_type(reference, open_context(reference)); },
               "the reference backend computes in f32; leave the key out, or use device=cuda");
}

}  // namespace
}  // namespace twill
