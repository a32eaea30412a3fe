// SPDX-License-Identifier: Apache-2.0
// plan.toml of a run and plan=FILE: taken as they are, refused where they are of something else.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "train/planned_run.h"
#include "train/run/run_folder.h"

namespace twill {
namespace {

class PlanFile : public PlannedRun {
 protected:
  std::string end_of(const std::string& run, const std::string& file) const {
    return content_of(dir_ / (run + "/checkpoints/step-00000012/" + file + ".safetensors"));
  }
  void expect_same_end(const std::string& a, const std::string& b) const {
    for (const char* file : {"model", "state", "sparsity"}) {
      ASSERT_FALSE(end_of(a, file).empty()) << file;
      EXPECT_EQ(end_of(a, file) == end_of(b, file), true) << file;
    }
  }
  void expect_refused_run(const std::string& plan, const std::string& part) {
    expect_error([&] { start("refused", {"plan=" + plan}); }, part);
    EXPECT_FALSE(exists("refused")) << "nothing is written before the plan fits";
  }
};

// Without the file another measurement would decide what is sparse from here on.
TEST_F(PlanFile, AResumedRunNeedsItsOwn) {
  const std::string packed = write("packed.toml", auto_plan(true));
  for (const char* execution : {"fastest", "packed"}) {
    const std::string run = execution;
    std::vector<std::string> settings{"recipe.execution=" + run};
    if (run == "fastest") settings.push_back("plan=" + packed);
    EXPECT_EQ(start(run, settings, 3), Outcome::kInterrupted);
    std::filesystem::rename(plan_file(run), dir_ / "aside.toml");
    expect_error([&] { resume(run); },
                 plan_file(run) +
                     " is missing: it says which layers of the run are sparse, and a "
                     "resumed run keeps to it; put it back, or start a new run");
    std::filesystem::rename(dir_ / "aside.toml", plan_file(run));
    EXPECT_EQ(resume(run), Outcome::kDone) << "put back";
  }
}

TEST_F(PlanFile, AMaskedRunNeedsNone) {
  EXPECT_EQ(start("masked", {"recipe.execution=masked"}, 3), Outcome::kInterrupted);
  std::filesystem::remove(plan_file("masked"));
  EXPECT_EQ(resume("masked"), Outcome::kDone);
}

TEST_F(PlanFile, AResumedRunRefusesThatOfAnother) {
  EXPECT_EQ(start("mine", {"plan=" + write("packed.toml", auto_plan(true))}, 3),
            Outcome::kInterrupted);
  const std::string mine = content_of(plan_file("mine"));
  const auto expect_refused_with = [&](const Plan& plan, const std::string& part) {
    dir_.write("mine/plan.toml", toml_of(plan));
    expect_error([&] { resume("mine"); }, plan_file("mine") + " " + part);
  };
  Plan fixed = auto_plan(true);
  fixed.execution = Execution::kPacked;
  expect_refused_with(fixed,
                      "is a plan of recipe.execution = \"packed\", but this run has \"fastest\"; "
                      "leave `plan` out, or set the key");
  expect_refused_with(auto_plan(true, {"model.width=32"}),
                      "says nothing about weights of 64 x 16 at blocks.*.ffn.input in phase 0 of "
                      "recipe \"fst\": it is the plan of another run; leave `plan` out to have it "
                      "measured, or name the "
                      "right file");
  // Of a recipe with more phases: what this run asks for is there, and more besides.
  Plan longer = auto_plan(true);
  longer.layer.push_back(longer.layer.front());
  longer.layer.back().phase = 1;
  expect_refused_with(
      longer,
      "has an entry for weights of 64 x 16 in phase 1, which recipe \"fst\" and this "
      "model do not ask for: it is the plan of another run");
  dir_.write("mine/plan.toml", mine.substr(0, mine.find("forward_below") + 16));
  expect_error([&] { resume("mine"); }, plan_file("mine"));
  dir_.write("mine/plan.toml", mine);
  EXPECT_EQ(resume("mine"), Outcome::kDone) << "no refusal has harmed the run";
}

// Numbers that nobody would measure: all of it packed whatever it costs, then nothing.
TEST_F(PlanFile, IsTakenAsGiven) {
  Plan odd = auto_plan(true);
  odd.device = "somewhere else";
  odd.tokens = 7;
  odd.layer[0].dense.forward = 1e-9;
  odd.layer[0].packed.forward = 1e3;
  EXPECT_EQ(start("odd", {"plan=" + write("odd.toml", odd)}), Outcome::kDone);
  EXPECT_EQ(plan_text_, toml_of(odd));
  EXPECT_EQ(content_of(plan_file("odd")), toml_of(odd));
  EXPECT_EQ(start("off", {"plan=" + write("off.toml", auto_plan(false))}), Outcome::kDone);
  EXPECT_EQ(measured_, 0);
  EXPECT_TRUE(cached().empty()) << "a plan that was given says nothing about this machine";
  EXPECT_NE(end_of("off", "model"), end_of("odd", "model"));
}

TEST_F(PlanFile, OfARecipeAsWrittenTurnsNothingOff) {
  Plan plan = auto_plan(true);
  plan.execution = Execution::kAuto;
  plan.layer.front().on = false;
  expect_error(
      [&] {
        start("off", {"recipe.execution=auto", "plan=" + write("off.toml", plan)});
      },
      "off.toml turns matrices off, which only recipe.execution = \"fastest\" may");
}

TEST_F(PlanFile, IsRefusedBeforeAnythingIsWritten) {
  expect_refused_run(dir_ / "none.toml", "none.toml");
  expect_refused_run(dir_.write("text.toml", "a plan, as it were"), "text.toml");
  Plan fixed = auto_plan(true);
  fixed.execution = Execution::kMasked;
  expect_refused_run(write("masked.toml", fixed),
                     "masked.toml is a plan of recipe.execution = \"masked\", but this run has "
                     "\"fastest\"");
  expect_refused_run(write("wide.toml", auto_plan(true, {"model.width=32"})),
                     "wide.toml says nothing about weights of 64 x 16");
  Plan shorter = auto_plan(true);
  shorter.layer.pop_back();
  expect_refused_run(write("short.toml", shorter),
                     "short.toml says nothing about weights of 16 x 64");
}

// A resumed run keeps to its own plan: what other runs have measured meanwhile, and what has become
// of the file that the plan came from, is all the same.
TEST_F(PlanFile, AnAutoRunResumedEqualsUninterrupted) {
  const std::string given = write("given.toml", auto_plan(true));
  EXPECT_EQ(start("whole", {"plan=" + given}), Outcome::kDone);
  for (const std::int64_t step : {1, 6, 10}) {
    const std::string run = "stopped-" + std::to_string(step);
    EXPECT_EQ(start(run, {"plan=" + given}, step), Outcome::kInterrupted);
    write("given.toml", auto_plan(false));
    EXPECT_EQ(resume(run), Outcome::kDone);
    EXPECT_EQ(plan_text_, toml_of(auto_plan(true)));
    expect_same_end("whole", run);
    write("given.toml", auto_plan(true));
  }
}

TEST_F(PlanFile, AMeasuredRunResumedEqualsUninterrupted) {
  EXPECT_EQ(start("first", {}, 1), Outcome::kInterrupted);
  ASSERT_EQ(cached().size(), 1U);
  // As if it had come out so: on shapes as small the measurement itself may turn everything off.
  const std::string kept = cached().front();
  write_plan(kept, auto_plan(true));
  EXPECT_EQ(start("whole"), Outcome::kDone);
  EXPECT_EQ(start("stopped", {}, 7), Outcome::kInterrupted);
  EXPECT_EQ(plan_text_, toml_of(auto_plan(true)));
  write_plan(kept, auto_plan(false));
  EXPECT_EQ(resume("stopped"), Outcome::kDone);
  EXPECT_EQ(measured_, 0);
  expect_same_end("whole", "stopped");
}

}  // namespace
}  // namespace twill
