// SPDX-License-Identifier: Apache-2.0
// Token shards without a tokenizer: trained, resumed, evaluated and exported, never written as text.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

class TokenIdsCommand : public testing::Test {
 protected:
  // nanoGPT's shards: u16 ids and nothing else.
  TokenIdsCommand() {
    std::vector<std::uint16_t> ids(4000);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<std::uint16_t>((i * i + 3 * i) % 50);
    std::ofstream(dir_ / "ids.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(ids.data()), static_cast<std::streamsize>(2 * 4000));
  }

  ProcessResult twill(std::vector<std::string> words) const {
    return run_twill(words, {.folder = dir_.path()});
  }
  ProcessResult train(const std::vector<std::string>& more) const {
    std::vector<std::string> words{
        "train",          "run.name=ids",        "data.train=ids.bin",  "data.tokenizer=none",
        "model.layers=1", "model.width=16",      "model.heads=2",       "model.context=16",
        "train.steps=6",  "train.micro_batch=2", "checkpoint.every=3",  "recipe=dense",
        "device=cpu",     "eval.windows=4",      "log.sample_tokens=5", "schedule.warmup_steps=2"};
    words.insert(words.end(), more.begin(), more.end());
    return twill(words);
  }

  TempDir dir_;
};

TEST_F(TokenIdsCommand, TrainResumeEvaluateAndLeave) {
  const ProcessResult trained = train({"model.vocab=64"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs/ids/tokenizer"));
  const ProcessResult resumed = twill({"train", "--resume", "ids", "train.steps=8"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  const ProcessResult evaluated = twill({"eval", "ids"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  expect_contains(evaluated.out, "val_loss");
  EXPECT_EQ(evaluated.out.find("bits per byte"), std::string::npos) << evaluated.out;
  const ProcessResult exported = twill({"export", "ids", "out"});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_TRUE(std::filesystem::exists(dir_ / "out/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/tokenizer.json"));
}

TEST_F(TokenIdsCommand, TheVocabularyIsAsked) {
  const ProcessResult none = train({});
  EXPECT_EQ(none.exit_code, 2);
  expect_contains(none.err, "set model.vocab to one more than the largest id of the shards");
  const ProcessResult small = train({"model.vocab=40"});
  EXPECT_EQ(small.exit_code, 2);
  expect_contains(small.err, "model.vocab = 40; set it to at least ");
}

TEST_F(TokenIdsCommand, TextNeedsATokenizer) {
  ASSERT_EQ(train({"model.vocab=64"}).exit_code, 0);
  const ProcessResult sampled = twill({"sample", "ids"});
  EXPECT_EQ(sampled.exit_code, 2);
  EXPECT_EQ(sampled.out, "");
  expect_contains(sampled.err, "its data have no tokenizer");
  dir_.write("text.txt", std::string(4000, 'a'));
  const ProcessResult text = train({"model.vocab=64", "run.name=t", "data.train=text.txt"});
  EXPECT_EQ(text.exit_code, 2);
  expect_contains(text.err, "text.txt is a text, and data.tokenizer = \"none\"");
}

}  // namespace
}  // namespace twill
