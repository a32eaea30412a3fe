// SPDX-License-Identifier: Apache-2.0
// twill data prepare and inspect, and training on what they made, from outside.
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/process.h"
#include "data/builtin_corpus.h"
#include "data/shards/shard_writer.h"
#include "io/packed/pack.h"
#include "io/temp_dir.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

class DataCommand : public testing::Test {
 protected:
  ProcessResult twill(const std::vector<std::string>& arguments) const {
    return run_twill(arguments, {.folder = dir_.path()});
  }
  std::vector<std::string> train(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"train"};
    for (const std::string& setting : tiny_settings(more)) words.push_back(setting);
    return words;
  }
  // The built-in corpus as documents of 5000 bytes.
  std::string documents() const {
    std::string text;
    for (std::string_view rest = builtin_corpus(); !rest.empty();
         rest.remove_prefix(std::min<std::size_t>(5000, rest.size())))
      text += std::string(rest.substr(0, 5000)) + "\n<|endoftext|>\n";
    return text;
  }

  TempDir dir_;
};

TEST_F(DataCommand, PrepareInspectTrainEvalResume) {
  dir_.write("t.txt.xz", xz_of(documents()));
  const std::vector<std::string> words{"data",  "prepare", "t.txt.xz",     "--tokenizer", "byte",
                                       "--out", "d",       "--validation", "0.1"};
  const ProcessResult prepared = twill(words);
  ASSERT_EQ(prepared.exit_code, 0) << prepared.err;
  expect_contains(prepared.out, "train data.train=d");
  expect_contains(twill(words).out, "d is already prepared");

  const ProcessResult shown = twill({"data", "inspect", "d", "--tokens", "5"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  expect_contains(shown.out, "tokenizer       byte, 256 tokens");
  expect_contains(shown.out, "as text");

  const ProcessResult trained = twill(train({"data.train=d", "run.name=a"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_contains(content_of(dir_ / "runs/a/config.toml"), "tokenizer = \"byte\"");
  const ProcessResult evaluated = twill({"eval", "a"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;

  ASSERT_EQ(twill(train({"data.train=d", "run.name=b", "train.steps=6"})).exit_code, 0);
  const ProcessResult resumed = twill({"train", "--resume", "b", "train.steps=12"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  dir_.write("d/train_000001.bin", "short");
  const ProcessResult refused = twill(train({"data.train=d"}));
  EXPECT_EQ(refused.exit_code, 2);
  expect_contains(refused.err, "odd number");
}

TEST_F(DataCommand, AMixShowsItsSharesAndResumesExactly) {
  dir_.write("a.txt", std::string(builtin_corpus().substr(0, 40'000)));
  dir_.write("b.txt", std::string(builtin_corpus().substr(40'000, 20'000)));
  dir_.write("mix.toml",
             "[[data.source]]\npath = \"a.txt\"\nweight = 0.75\n[[data.source]]\npath = "
             "\"b.txt\"\nweight = 0.25\n");
  const auto words = [&](const char* name) {
    std::vector<std::string> all{"train", "mix.toml"};
    for (const std::string& setting : tiny_settings({fmt::format("run.name={}", name)}))
      all.push_back(setting);
    return all;
  };
  const ProcessResult whole = twill(words("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  expect_contains(whole.out, " 75.0%  a.txt: 36 k tokens, seen 0.02 times");
  expect_contains(whole.out, " 25.0%  b.txt");
  // Cut back to step 5 and gone on: the same weights.
  const std::string model = "checkpoints/step-00000012/model.safetensors";
  ASSERT_EQ(twill(words("again")).exit_code, 0);
  const ProcessResult again =
      twill({"train", "--resume", dir_ / "runs/again/checkpoints/step-00000010"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(content_of(dir_ / ("runs/whole/" + model)) ==
              content_of(dir_ / ("runs/again/" + model)));
  const ProcessResult other = twill({"train", "--resume", "again", "data.source.0.weight=0.5"});
  EXPECT_EQ(other.exit_code, 2);
  expect_contains(other.err, "data.source.0.weight");
}

TEST_F(DataCommand, InspectsEveryKindOfFile) {
  write_llmc_shard(dir_ / "s.bin", {5, 300, 7}, 2);
  const ProcessResult shard =
      twill({"data", "inspect", "s.bin", "--tokenizer", "byte", "--tokens", "2"});
  EXPECT_EQ(shard.exit_code, 0) << shard.err;
  expect_contains(shard.out, "format          llm.c, version 1\ntokens          3 of 2 bytes\n");
  expect_contains(shard.out, "ids             5 to 300");
  expect_contains(shard.out, "first tokens    5 300\n");
  expect_contains(shard.err, "the largest id 300 is beyond the tokenizer's 256 tokens");
  dir_.write("t.gz", gzip_of("{\"text\":\"a\"}\n{\"text\":\"b\"}\n"));
  const ProcessResult text = twill({"data", "inspect", "t.gz"});
  expect_contains(text.out, "format          JSON Lines\ncompression     gzip\nbytes           26");
  expect_contains(text.out, "documents       2");
}

TEST_F(DataCommand, InspectsAPipe) {
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "{\"text\":\"a\"}\n{\"text\":\"b\"}\n"; });
  const ProcessResult text = twill({"data", "inspect", "pipe"});
  writer.join();
  expect_contains(text.out, "format          JSON Lines\ncompression     none\nbytes           26");
  expect_contains(text.out, "documents       2");
}

TEST_F(DataCommand, KilledAtAnyMomentAndStartedAgain) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += documents();
  dir_.write("t.txt", text);
  const auto words = [](const char* out) {
    return std::vector<std::string>{"data",  "prepare", "t.txt",          "--tokenizer", "byte",
                                    "--out", out,       "--shard-tokens", "1000000"};
  };
  ASSERT_EQ(twill(words("whole")).exit_code, 0);
  for (const int delay_ms : {5, 20, 40, 80, 160}) {
    Process process(words("killed"), {.folder = dir_.path()});
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    process.signal(SIGKILL);
    process.wait();
  }
  const ProcessResult ended = twill(words("killed"));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  std::map<std::string, bool> seen;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / "whole")) {
    const std::string name = entry.path().filename().native();
    seen[name] = content_of(dir_ / ("whole/" + name)) == content_of(dir_ / ("killed/" + name));
  }
  for (const auto& [name, same] : seen) EXPECT_TRUE(same) << name;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_ / "killed"), {}),
            std::ssize(seen));
}

TEST_F(DataCommand, BadInputEndsWithOneLine) {
  dir_.write("t", "text");
  const auto message = [&](const std::vector<std::string>& words) {
    const ProcessResult result = twill(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  expect_contains(message({"data", "prepare", "none", "--tokenizer", "byte", "--out", "d"}),
                  "twill: TEXT: no such file or folder: none");
  expect_contains(message({"data", "prepare", "t", "--tokenizer", "none", "--out", "d"}), "none");
  expect_contains(message({"data", "inspect", "none"}),
                  "twill: FILE: no such file or folder: none");
  dir_.write("bad.jsonl", "{\"text\":\n");
  expect_contains(message({"data", "prepare", "bad.jsonl", "--tokenizer", "byte", "--out", "e"}),
                  "twill: bad.jsonl: line 1: not valid JSON");
  dir_.write("odd.bin", "123");
  expect_contains(message({"data", "inspect", "odd.bin"}), "odd.bin: 3 bytes, an odd number");
}

}  // namespace
}  // namespace twill
