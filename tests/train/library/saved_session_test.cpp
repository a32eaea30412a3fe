// SPDX-License-Identifier: Apache-2.0
// What a session in memory is told, it does; what it saves, every reader takes.
#include <atomic>
#include <filesystem>

#include <gtest/gtest.h>

#include "exchange/memory_model.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/library/tiny_session.h"
#include "train/model/trained_model.h"
#include "train/run/checkpoint.h"
#include "twill/twill.h"

namespace twill {
namespace {

class SavedSession : public testing::Test {
 protected:
  std::string file_of(const std::string& checkpoint, const std::string& name) const {
    return content_of(checkpoint + "/" + name + ".safetensors");
  }
  TempDir dir_;
  std::string saved_ = dir_ / "saved";
};

TEST_F(SavedSession, StartsFromAnotherModelOrSaysWhyNot) {
  expect_error([] { Session(in_memory({"train.start_from=/nonexistent"})); },
               "no model named /nonexistent");
  Session first(in_memory());
  first.step();
  first.save(saved_);
  std::vector<std::string> settings = in_memory({"train.start_from=" + saved_, "train.seed=9"});
  std::erase_if(settings, [](const std::string& s) { return s.starts_with("model."); });
  Session second(settings);
  for (const WeightInfo& weight : first.weights())
    EXPECT_EQ(second.read_weight(weight.name), first.read_weight(weight.name)) << weight.name;
}

TEST_F(SavedSession, IsAModelForEveryReader) {
  Session session(in_memory());
  session.step();
  const std::string checkpoint = session.save(saved_);
  EXPECT_EQ(checkpoint, saved_ + "/checkpoints/step-00000001");
  for (const std::string& where : {saved_, checkpoint, checkpoint + "/model.safetensors"}) {
    const auto model = open_trained_model(where, "runs", 1);
    EXPECT_TRUE(model->is_run()) << where;
    EXPECT_EQ(model->tokenizer().name(), "byte") << where;
    EXPECT_EQ(model->config().train.micro_batch, 4) << where;
  }
}

// Of the recipe, too: the third file of the checkpoint lies beside the model.
TEST_F(SavedSession, AModelFileWithItsOwnHeaderNeedsNoRun) {
  Session session(in_memory({"recipe=ste"}));
  session.step();
  const std::string checkpoint = session.save(saved_);
  std::filesystem::rename(checkpoint, dir_ / "elsewhere");
  std::filesystem::remove_all(saved_);
  session.export_to(dir_ / "hf");
  const std::vector<float> exported = MemoryModel(dir_ / "hf").weights();
  std::filesystem::rename(dir_ / "elsewhere/model.safetensors", dir_ / "elsewhere/any.safetensors");
  expect_error([&] { find_model(dir_ / "elsewhere", "runs"); }, "not a Hugging Face model");
  const AnyModel file = find_model(dir_ / "elsewhere/any.safetensors", "runs");
  EXPECT_FALSE(file.is_run);
  EXPECT_EQ(file.source->format(), "Twill");
  EXPECT_EQ(MemoryModel(*file.source).weights(), exported);
  expect_error([&] { open_model_tokenizer(file); }, "no tokenizer lies beside it");
  std::filesystem::rename(dir_ / "elsewhere/any.safetensors", dir_ / "elsewhere/model.safetensors");
  EXPECT_EQ(MemoryModel(*find_model(dir_ / "elsewhere", "runs").source).weights(), exported);
  std::filesystem::remove(dir_ / "elsewhere/sparsity.safetensors");
  expect_error([&] { find_model(dir_ / "elsewhere/model.safetensors", "runs"); },
               "sparsity.safetensors");
}

TEST_F(SavedSession, ResumesToTheSameBits) {
  for (const std::string recipe : {"dense", "ste", "set"}) {
    Session whole(in_memory({"recipe=" + recipe}));
    while (!whole.done()) whole.step();
    const std::string expected = whole.save(dir_ / ("whole-" + recipe));
    Session half(in_memory({"recipe=" + recipe}));
    for (int i = 0; i < 5; ++i) half.step();
    half.save(dir_ / recipe);
    for (int i = 0; i < 2; ++i) half.step();
    half.save(dir_ / recipe);
    EXPECT_EQ(list_checkpoints(dir_ / (recipe + "/checkpoints")).size(), 2u);
    TrainingListener listener;
    const std::atomic<bool> never = false;
    EXPECT_EQ(run_training({.config_file = "", .overrides = {}, .resume = dir_ / recipe}, listener,
                           never),
              Outcome::kDone);
    for (const char* name : {"model", "state", "sparsity"})
      EXPECT_EQ(file_of(dir_ / (recipe + "/checkpoints/step-00000012"), name),
                file_of(expected, name))
          << recipe << " " << name;
  }
}

TEST_F(SavedSession, TakesNobodysFolder) {
  dir_.write("other/file", "of somebody");
  Session session(in_memory());
  expect_error([&] { session.save(dir_ / "other"); }, "exists already");
  expect_error([&] { session.save("/"); }, "is no folder to save a session in");
  expect_error([&] { session.save(); }, "the session is in memory");
  session.save(saved_ + "/");
  session.step();
  session.save(saved_);
  Session second(in_memory());
  expect_error([&] { second.save(saved_); }, "exists already");
}

}  // namespace
}  // namespace twill
