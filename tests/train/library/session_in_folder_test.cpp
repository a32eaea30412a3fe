// SPDX-License-Identifier: Apache-2.0
// A session in a folder is a run like the command's.
#include <atomic>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/run/run_folder.h"
#include "train/stop_after.h"
#include "train/tiny_run.h"
#include "twill/twill.h"

namespace twill {
namespace {

class SessionInFolder : public testing::Test {
 protected:
  std::vector<std::string> settings(std::vector<std::string> more) const {
    more.push_back("run.dir=" + dir_.path());
    return tiny_settings(more);
  }
  // The same for who brings a recipe of his own.
  std::vector<std::string> without_recipe(const std::vector<std::string>& more) const {
    std::vector<std::string> all = settings(more);
    std::erase(all, "recipe=dense");
    return all;
  }
  void expect_same_end(const std::string& a, const std::string& b) const {
    for (const char* file : {"model", "state", "sparsity"}) {
      const std::string name = std::string("/checkpoints/step-00000012/") + file + ".safetensors";
      EXPECT_EQ(content_of(dir_ / (a + name)), content_of(dir_ / (b + name))) << file;
    }
    EXPECT_FALSE(content_of(dir_ / (a + "/checkpoints/step-00000012/model.safetensors")).empty());
  }
  void train_by_command(const std::vector<std::string>& more,
                        const std::string& resume = "") const {
    TrainingListener listener;
    const std::atomic<bool> never = false;
    run_training(
        {.config_file = "", .overrides = resume.empty() ? settings(more) : more, .resume = resume},
        listener, never);
  }
  static bool every(const StepReport&) { return true; }

  TempDir dir_;
};

TEST_F(SessionInFolder, HasTheCommandsFilesAndBits) {
  train_by_command({"run.name=command", "recipe=ste"});
  Session session = Session::start({.settings = settings({"run.name=program", "recipe=ste"})});
  EXPECT_EQ(session.folder(), dir_ / "program");
  std::vector<std::int64_t> evaluated;
  session.train([&](const StepReport& report) {
    if (report.validation_loss) evaluated.push_back(report.step);
    return true;
  });
  EXPECT_EQ(evaluated, (std::vector<std::int64_t>{4, 8, 12}));
  expect_same_end("command", "program");
  for (const char* file : {"config.toml", "facts.json", "metrics.jsonl", "plan.toml"})
    EXPECT_TRUE(std::filesystem::exists(dir_ / (std::string("program/") + file))) << file;
  expect_error([&] { session.save(dir_ / "copy"); },
               "is saved there: call save() without a folder");
}

TEST_F(SessionInFolder, ResumesRunsOfTheCommandAndIsResumedByIt) {
  train_by_command({"run.name=whole", "recipe=ste"});
  StopAfter listener(7);
  run_training(
      {.config_file = "", .overrides = settings({"run.name=a", "recipe=ste"}), .resume = ""},
      listener, listener.stop);
  Session::resume(dir_ / "a").train(every);
  expect_same_end("whole", "a");
  {
    Session half = Session::start({.settings = settings({"run.name=b", "recipe=ste"})});
    half.train([](const StepReport& report) { return report.step < 7; });
    EXPECT_EQ(half.steps_done(), 7);
    EXPECT_EQ(half.save(), dir_ / "b/checkpoints/step-00000007");
    expect_error([&] { Session::resume(dir_ / "b"); }, "is being trained by another process");
  }
  train_by_command({}, dir_ / "b");
  expect_same_end("whole", "b");
  expect_error([&] { Session::resume(dir_ / "none"); }, "no run named");
  expect_error([&] { Session::resume(dir_ / "a", {.settings = {"train.seed=5"}}); },
               "with train.seed = 5: it was started with 1");
  expect_error([&] { Session::resume(dir_ / "a", {.recipe = Recipe::named("ste")}); },
               "a resumed run keeps its recipe");
}

TEST_F(SessionInFolder, TakesARecipeAsAValue) {
  train_by_command({"run.name=named", "recipe=ste"});
  Session::start({.settings = without_recipe({"run.name=value"}), .recipe = Recipe::named("ste")})
      .train(every);
  Recipe built("mine");
  built.add_phase({"weights.pattern=2:4", "weights.projection=hard", "weights.refresh=1"});
  Session::start({.settings = without_recipe({"run.name=built"}), .recipe = built}).train(every);
  expect_same_end("named", "value");
  const RunConfig saved = RunFolder::open(dir_ / "built", "runs").read_config();
  EXPECT_EQ(saved.recipe.name, "mine");
  EXPECT_EQ(content_of(dir_ / "named/checkpoints/step-00000012/model.safetensors"),
            content_of(dir_ / "built/checkpoints/step-00000012/model.safetensors"));
  expect_error([&] { Session::start({.settings = settings({"recipe=fst"}), .recipe = built}); },
               "there are two recipes");
}

// Every example counts on from its number.
OwnData counting() {
  const auto fill = [](std::int64_t position, std::span<std::int32_t> tokens,
                       std::span<std::int32_t> targets) {
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      tokens[t] = static_cast<std::int32_t>((static_cast<std::size_t>(position) + t) % 32);
      targets[t] = (tokens[t] + 1) % 32;
    }
  };
  return {.train = fill, .validation = fill, .validation_examples = 8};
}

TEST_F(SessionInFolder, LearnsFromOwnData) {
  const std::vector<std::string> more{"model.vocab=32", "schedule.warmup_steps=2",
                                      "optimizer.lr=0.02"};
  SessionOptions options{.settings = settings(more), .data = counting()};
  options.settings.push_back("run.name=whole");
  Session whole = Session::start(options);
  const double before = whole.validation_loss();
  whole.train(every);
  EXPECT_LT(whole.validation_loss(), before - 0.5);
  expect_error([&] { whole.sample("", 3); }, "a sample needs a tokenizer");

  options.settings.back() = "run.name=stopped";
  {
    Session half = Session::start(options);
    half.train([](const StepReport& report) { return report.step < 5; });
  }
  expect_error([&] { train_by_command({}, dir_ / "stopped"); }, "(examples of a program)");
  expect_error([&] { Session::resume(dir_ / "stopped"); }, "(examples of a program)");
  Session::resume(dir_ / "stopped", {.data = counting()}).train(every);
  expect_same_end("whole", "stopped");

  options.settings.push_back("data.validation_fraction=0.2");
  expect_error([&] { Session::start(options); }, "the program gives its own data");
  train_by_command({"run.name=texts"});
  expect_error([&] { Session::resume(dir_ / "texts", {.data = counting()}); },
               "the run learns from the data of its config");
}

TEST_F(SessionInFolder, OwnValidationIsSpreadEvenly) {
  std::set<std::int64_t> asked;
  OwnData data = counting();
  data.validation = [&asked, fill = data.train](std::int64_t position, auto tokens, auto targets) {
    asked.insert(position);
    fill(position, tokens, targets);
  };
  for (const auto& [windows, expected] :
       {std::pair{"3", std::set<std::int64_t>{0, 2, 5}}, {"0", {0, 1, 2, 3, 4, 5, 6, 7}}}) {
    asked.clear();
    Session session(
        {.settings = {"model.vocab=32", "model.layers=1", "model.width=16", "model.heads=2",
                      "model.context=16", "device=cpu", std::string("eval.windows=") + windows},
         .data = data});
    session.validation_loss();
    EXPECT_EQ(asked, expected) << windows;
  }
}

TEST_F(SessionInFolder, OwnDataMayLackValidation) {
  OwnData data = counting();
  data.validation = {};
  expect_error([&] { Session::start({.settings = settings({"model.vocab=32"}), .data = data}); },
               "give both or neither");
  data.validation_examples = 0;
  Session session = Session::start({.settings = settings({"model.vocab=32"}), .data = data});
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(session.step().validation_loss.has_value());
  expect_error([&] { session.validation_loss(); }, "there is no validation loss");
  expect_error([&] { Session({.settings = {"device=cpu"}, .data = data}); }, "set model.vocab");
  data.train = [](std::int64_t, std::span<std::int32_t>, std::span<std::int32_t>) {
    throw Error("the shelf is empty");
  };
  Session empty({.settings = {"model.vocab=32", "model.layers=1", "model.width=16", "model.heads=2",
                              "model.context=16", "device=cpu"},
                 .data = data});
  expect_error([&] { empty.step(); }, "the shelf is empty");
}

}  // namespace
}  // namespace twill
