// SPDX-License-Identifier: Apache-2.0
// Models that come from elsewhere become runs and starting points of runs.
#include "train/model/import_model.h"
#include "models/initialise.h"
#include "ops/transfer.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "exchange/hf_export.h"
#include "exchange/memory_model.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/model/trained_model.h"
#include "train/run/checkpoint.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

class ImportModel : public testing::Test {
 protected:
  ImportModel() : model_(tiny_config().model) {
    initialise(model_.builder.parameters(), 7);
    export_hf(model_.builder, model_.model.config(), ByteTokenizer(), {.folder = hf_});
  }
  ImportReport import(const std::string& name = "back") {
    return import_model({.source = hf_, .name = name, .tokenizer = {}, .runs_dir = runs_});
  }
  Outcome train(const std::vector<std::string>& more, const std::string& resume = "") {
    std::vector<std::string> settings =
        resume.empty() ? tiny_settings() : std::vector<std::string>();
    if (resume.empty())
      std::erase_if(settings, [](const auto& s) { return s.starts_with("model."); });
    settings.push_back("run.dir=" + runs_);
    settings.insert(settings.end(), more.begin(), more.end());
    TrainingListener listener;
    return run_training({.config_file = {}, .overrides = settings, .resume = resume}, listener,
                        stop_);
  }

  TempDir dir_;
  std::string hf_ = dir_ / "hf", runs_ = dir_ / "runs";
  MemoryModel model_;
  std::atomic<bool> stop_ = false;
};

TEST_F(ImportModel, BecomesARun) {
  const ImportReport report = import();
  EXPECT_EQ(report.folder, runs_ + "/back");
  EXPECT_EQ(report.format, "Hugging Face");
  EXPECT_EQ(report.tokenizer, "byte");
  const auto run = open_trained_model("back", runs_, 1), folder = open_trained_model(hf_, runs_, 1);
  EXPECT_EQ(run->source().format(), "Twill");
  EXPECT_EQ(run->checkpoint(), runs_ + "/back/checkpoints/step-00000000");
  const std::vector<std::int32_t> ids{1, 2, 3};
  const auto logits = [&](TrainedModel& trained) {
    const ConstView view =
        trained.language_model().next_token_logits({.context = trained.context(), .time = 3}, ids);
    return host_floats(trained.context(), view);
  };
  const std::vector<float> expected = logits(*run);
  EXPECT_EQ(logits(*folder), expected);
  EXPECT_EQ(MemoryModel(model_.model.config(), 3).logits(ids).size(), expected.size());
  EXPECT_EQ(run->tokenizer().name(), "byte");
  expect_error([&] { import(); }, "exists already");
}

TEST_F(ImportModel, CannotBeResumedAndSaysWhatToDo) {
  import();
  expect_error([&] { train({}, "back"); },
               "was imported from " + hf_ +
                   " and has no optimizer state to resume; train its weights in a new run with "
                   "train.start_from=" +
                   runs_ + "/back");
}

TEST_F(ImportModel, ARunStartsFromItsWeights) {
  import();
  for (const std::string& from : {std::string("back"), hf_}) {
    const std::string name = from == hf_ ? "b" : "a";
    train({"train.start_from=" + from, "run.name=" + name, "train.steps=1", "optimizer.lr=0"});
    EXPECT_EQ(MemoryModel(*find_model(name, runs_).source).weights(), model_.weights());
  }
  // The new run is a run like any other: it resumes, without its origin.
  std::filesystem::remove_all(hf_);
  EXPECT_EQ(train({"train.steps=2"}, "b"), Outcome::kDone);
  expect_error(
      [&] {
        train({"train.start_from=back", "run.name=c", "model.width=64"});
      },
      "model.width = 64 does not agree with train.start_from, whose model has 16");
  expect_error(
      [&] {
        train({"train.start_from=nowhere", "run.name=c"});
      },
      "no model named nowhere: neither a run in " + runs_ + " nor a folder or file");
}

TEST_F(ImportModel, OverridesMayNotChangeTheModel) {
  import();
  for (const std::string& where : {std::string("back"), hf_}) {
    expect_error([&] { open_trained_model(where, runs_, 1, {"model.layers=3"}); },
                 where == hf_ ? "model.layers = 3 cannot be changed: the shape of " + hf_
                              : std::string("model.layers = 3 cannot be changed: the model was "
                                            "trained with"));
    EXPECT_EQ(open_trained_model(where, runs_, 1, {"train.sequence=8"})->model().max_time(), 8);
    expect_error([&] { open_trained_model(where, runs_, 1, {"train.sequence=99"}); },
                 "train.sequence = 99 is longer than the model's context of 16");
  }
}

TEST_F(ImportModel, NeedsATokenizerThatFits) {
  std::filesystem::remove(hf_ + "/tokenizer.json");
  expect_error([&] { import(); }, "no tokenizer lies beside it");
  EXPECT_FALSE(std::filesystem::exists(runs_));
  const auto import_with_bytes = [&] {
    return import_model({.source = hf_, .name = "n", .tokenizer = "byte", .runs_dir = runs_});
  };
  EXPECT_EQ(import_with_bytes().tokenizer_vocab, 256);

  // 100 tokens, as a file of llm.c that has no tokenizer of its own.
  std::vector<std::int32_t> header(256);
  const std::int32_t front[] = {20240326, 3, 2, 100, 1, 1, 4, 100};
  std::ranges::copy(front, header.begin());
  ModelConfig few;
  few.layers = 1;
  few.width = 4;
  few.heads = 1;
  few.context = 2;
  few.vocab = 100;
  const auto numbers = static_cast<std::size_t>(num_parameters(resolved(few, 100)));
  const std::string path =
      dir_.write("few.bin", std::string(reinterpret_cast<const char*>(header.data()), 1024) +
                                std::string(4 * numbers, '\0'));
  expect_error(
      [&] {
        import_model({.source = path, .name = "few", .tokenizer = "byte", .runs_dir = runs_});
      },
      "the tokenizer (byte) has 256 tokens, the model only 100: they do not belong together");
}

}  // namespace
}  // namespace twill
