// SPDX-License-Identifier: Apache-2.0
// Bad input gets one clear line and exit code 2, and loses nothing. One test per item.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "io/temp_dir.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

class BadInput : public testing::Test {
 protected:
  ProcessResult twill(const std::vector<std::string>& arguments,
                      ProcessOptions options = {}) const {
    options.folder = dir_.path();
    return run_twill(arguments, options);
  }
  ProcessResult train(const std::vector<std::string>& more, ProcessOptions options = {}) const {
    std::vector<std::string> words{"train"};
    for (const std::string& setting : tiny_settings(more)) words.push_back(setting);
    return twill(words, options);
  }
  // Exit code 2 and one line on standard error that begins with "twill: " and has `part` in it.
  static void expect_line(const ProcessResult& result, const std::string& part) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(result.err.starts_with("twill: ")) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << result.err;
  }
  bool has_runs() const { return fs::exists(dir_ / "runs"); }

  TempDir dir_;
};

TEST_F(BadInput, UnknownKey) {
  expect_line(train({"train.stepz=3"}), "unknown key 'stepz' in [train]; did you mean 'steps'?");
  dir_.write("a.toml", "[train]\nsteps = 3\nsede = 1\n");
  expect_line(twill({"train", "a.toml"}),
              "a.toml: line 3: unknown key 'sede' in [train]; did you mean 'seed'?");
  EXPECT_FALSE(has_runs());
}

TEST_F(BadInput, WrongType) {
  expect_line(train({"train.steps=\"ten\""}), "train.steps");
  expect_line(train({"train.steps=1.5"}), "expected an integer");
  dir_.write("a.toml", "[optimizer]\nlr = true\n");
  expect_line(twill({"train", "a.toml"}), "a.toml: line 2: optimizer.lr has the wrong type");
}

TEST_F(BadInput, OutOfRange) {
  expect_line(train({"train.steps=0"}), "train.steps = 0, expected 1 to 1000000000");
  expect_line(train({"model.ffn.activation=relu"}),
              "expected gelu, gelu-tanh, relu2, swiglu, geglu or geglu-tanh");
  expect_line(train({"model=gpt3"}), "expected tiny");
  expect_line(train({"recipe=fsst"}), "unknown recipe 'fsst'; did you mean 'fst'?");
}

TEST_F(BadInput, DeviceThatIsNotThere) {
  expect_line(train({"device=reference", "train.precision=bf16"}),
              "leave the key out, or use device=cuda");
  // Whether it is the build, the driver or the GPU that is missing.
  expect_line(train({"device=cuda:7"}), "or use device=cpu");
  EXPECT_FALSE(has_runs());
}

TEST_F(BadInput, MoreMemoryThanThereIs) {
  const ProcessResult result = train({"model.width=65536", "model.layers=1000"});
  expect_line(result, "GiB are free; lower train.micro_batch");
  EXPECT_FALSE(has_runs());
  expect_line(train({"model.context=16777216", "train.micro_batch=65536"}),
              "tokens, expected at most 67108864");
}

TEST_F(BadInput, ConfigFile) {
  expect_line(twill({"train", "none.toml"}), "cannot read none.toml: No such file or directory");
  dir_.write("broken.toml", "[train\nsteps = 1\n");
  expect_line(twill({"train", "broken.toml"}), "broken.toml: line 1");
  expect_line(twill({"train", "a.toml", "b.toml"}),
              "two config files were given, a.toml and b.toml");
}

TEST_F(BadInput, MissingText) {
  expect_line(train({"data.train=nowhere.txt"}), "data.train: no such file or folder: nowhere.txt");
  expect_line(train({"data.train=texts/*.txt"}), "texts/*.txt");
  EXPECT_FALSE(has_runs());
}

TEST_F(BadInput, EmptyText) {
  dir_.write("empty.txt", "");
  expect_line(train({"data.train=empty.txt"}), "empty");
  EXPECT_FALSE(has_runs());
}

TEST_F(BadInput, TextShorterThanOneBatch) {
  dir_.write("short.txt", "only a few words");
  expect_line(train({"data.train=short.txt"}), "too few");
  EXPECT_FALSE(has_runs());
}

TEST_F(BadInput, ExistingRun) {
  ASSERT_EQ(train({"run.name=here", "train.steps=1"}).exit_code, 0);
  const std::string before = content_of(dir_ / "runs/here/metrics.jsonl");
  expect_line(
      train({"run.name=here"}),
      "run runs/here exists already; continue it with --resume runs/here or choose another");
  EXPECT_EQ(content_of(dir_ / "runs/here/metrics.jsonl"), before);
}

TEST_F(BadInput, NoSuchRun) {
  expect_line(twill({"sample", "ghost"}), "no model named ghost");
  expect_line(twill({"eval", "ghost"}), "no model named ghost");
  expect_line(twill({"train", "--resume", "ghost"}), "no run named ghost");
}

TEST_F(BadInput, EvalOfAnotherModel) {
  ASSERT_EQ(train({"run.name=r", "train.steps=1"}).exit_code, 0);
  expect_line(twill({"eval", "r", "model.width=32"}), "model.width = 32 cannot be changed");
  expect_line(twill({"eval", "r", "train.sequence=64"}),
              "train.sequence = 64 is longer than the model's context of 16");
}

class BadCheckpoint : public BadInput {
 protected:
  void SetUp() override { ASSERT_EQ(train({"run.name=r"}).exit_code, 0); }
  std::string model() const { return dir_ / "runs/r/checkpoints/step-00000012/model.safetensors"; }
  // Refused, and the checkpoint it names resumes.
  void expect_previous_is_usable(const std::string& part) {
    const ProcessResult refused = twill({"train", "--resume", "r"});
    expect_line(refused, part);
    expect_line(refused,
                "the previous good checkpoint is runs/r/checkpoints/step-00000010: give this path");
    EXPECT_EQ(twill({"train", "--resume", "runs/r/checkpoints/step-00000010"}).exit_code, 0);
    EXPECT_EQ(twill({"sample", "r", "--tokens", "2"}).exit_code, 0) << "written anew";
  }
};

TEST_F(BadCheckpoint, Truncated) {
  fs::resize_file(model(), fs::file_size(model()) / 2);
  expect_line(twill({"sample", "r"}), "model.safetensors: truncated");
  expect_line(twill({"sample", "r"}), "the previous good checkpoint is runs/r/checkpoints/step-");
  EXPECT_EQ(twill({"sample", "runs/r/checkpoints/step-00000010", "--tokens", "1"}).exit_code, 0);
  expect_previous_is_usable("model.safetensors: truncated");
}

TEST_F(BadCheckpoint, Corrupted) {
  std::fstream file(model(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-500, std::ios::end);
  file.write("damage", 6);
  file.close();
  expect_line(twill({"eval", "r"}), "model.safetensors: checksum mismatch");
  expect_previous_is_usable("model.safetensors: checksum mismatch");
}

TEST_F(BadCheckpoint, Mismatched) {
  ASSERT_EQ(train({"run.name=wide", "model.width=32"}).exit_code, 0);
  fs::copy_file(dir_ / "runs/wide/checkpoints/step-00000012/model.safetensors", model(),
                fs::copy_options::overwrite_existing);
  expect_previous_is_usable("belong to different checkpoints");
}

// The limit lets metrics and config through and stops the first checkpoint, as a disk would that
// runs full in the middle of a run.
TEST_F(BadInput, FullDisk) {
  const ProcessResult result = train({"run.name=full"}, {.max_file_bytes = 20'000});
  expect_line(result, "cannot write runs/full/checkpoints/");
  std::size_t left = 0;
  for (const auto& entry : fs::directory_iterator(dir_ / "runs/full/checkpoints")) {
    ADD_FAILURE() << "left behind: " << entry.path();
    ++left;
  }
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(twill({"train", "--resume", "full"}).exit_code, 0) << "with space again it goes on";
}

TEST_F(BadInput, ReadOnlyFolder) {
  fs::create_directory(dir_ / "locked");
  ::chmod(dir_.path().c_str(), 0777);
  ::chmod((dir_ / "locked").c_str(), 0555);
  expect_line(train({"run.dir=locked/runs"}, {.unprivileged = true}),
              "cannot create locked/runs: Permission denied; choose a folder you can write");
  expect_line(train({"run.dir=locked"}, {.unprivileged = true}), "cannot create locked/");
}

}  // namespace
}  // namespace twill
