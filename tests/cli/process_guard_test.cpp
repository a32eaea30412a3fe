// SPDX-License-Identifier: Apache-2.0
// What the system does to a process: closed descriptors, limits, signals, files that change under it,
// pipes that nobody writes to. A sentence and an exit code each time, and files as they should be.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "data/shards/shard_writer.h"
#include "io/temp_dir.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

constexpr int kPatience = 60;  // seconds; what is tried hangs for ever where it is wrong

class ProcessGuard : public testing::Test {
 protected:
  ProcessResult twill(const std::vector<std::string>& arguments,
                      ProcessOptions options = {}) const {
    options.folder = dir_.path();
    return Process(arguments, options).wait_at_most(kPatience);
  }
  static std::vector<std::string> training(const std::vector<std::string>& more) {
    std::vector<std::string> words{"train"};
    for (const std::string& setting : tiny_settings(more)) words.push_back(setting);
    return words;
  }
  ProcessResult train(const std::vector<std::string>& more, const ProcessOptions& options = {}) {
    return twill(training(more), options);
  }
  void make_pipe(const std::string& name) const {
    ASSERT_EQ(::mkfifo((dir_ / name).c_str(), 0600), 0);
  }
  // Whether a process has blocked SIGTERM: it then waits for it in a thread of its own.
  static bool waits_for_signals(const Process& process) {
    std::ifstream status(process.proc_folder() + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:"))
        return (std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
    return false;
  }

  TempDir dir_;
};

TEST_F(ProcessGuard, ClosedDescriptorsStayOutOfFiles) {
  const ProcessOptions closed{.closed = true};
  ASSERT_EQ(train({"run.name=c", "log.every=1"}, closed).exit_code, 0);
  std::ifstream metrics(dir_ / "runs/c/metrics.jsonl");
  for (std::string line; std::getline(metrics, line);)
    EXPECT_TRUE(line.starts_with("{\"step\":") && line.ends_with("}")) << line;
  EXPECT_EQ(twill({"eval", "c"}, closed).exit_code, 0);
  EXPECT_EQ(twill({"export", "c", "out"}, closed).exit_code, 0);
  dir_.write("t.txt", "one text\nof two lines\n");
  EXPECT_EQ(
      twill({"data", "prepare", "t.txt", "--tokenizer", "byte", "--out", "d"}, closed).exit_code,
      0);
  EXPECT_EQ(
      twill({"tokenizer", "train", "t.txt", "--out", "tok", "--vocab", "258"}, closed).exit_code,
      0);
  EXPECT_EQ(twill({"train", "steps"}, closed).exit_code, 2) << "an error nobody hears";
}

TEST_F(ProcessGuard, PipesAreRefusedWhereTheyAreRead) {
  make_pipe("pipe");
  make_pipe("pipe.toml");
  fs::create_directories(dir_ / "model");
  make_pipe("model/config.json");
  fs::create_directories(dir_ / "tok");
  make_pipe("tok/tokenizer.json");
  const std::vector<std::vector<std::string>> commands{
      training({"pipe.toml"}),
      training({"recipe=pipe.toml"}),
      training({"recipe=fst", "recipe.execution=packed", "plan=pipe.toml"}),
      training({"data.train=pipe"}),
      training({"data.tokenizer=pipe"}),
      training({"data.tokenizer=tok"}),
      training({"train.start_from=model"}),
      {"config", "pipe.toml"},
      {"import", "pipe"},
      {"import", "model"},
      {"verify", "pipe"},
      {"recipes", "pipe.toml"}};
  for (const std::vector<std::string>& command : commands) {
    const ProcessResult result = twill(command);
    EXPECT_EQ(result.exit_code, 2) << command.back() << ": " << result.err;
    EXPECT_TRUE(result.err.starts_with("twill: ")) << result.err;
  }
  expect_contains(twill({"config", "pipe.toml"}).err,
                  "cannot read pipe.toml: not a file but a pipe; write what comes out of it into");
  expect_contains(train({"data.train=pipe"}).err, "data.train: pipe is a pipe; write what comes");
  expect_contains(twill({"config", "/dev/zero"}).err, "cannot read /dev/zero");
  EXPECT_FALSE(fs::exists(dir_ / "runs"));
}

TEST_F(ProcessGuard, ASignalWhileLoadingEndsAtOnce) {
  dir_.write("big.txt", "");
  fs::resize_file(dir_ / "big.txt", 400'000'000);  // a second to encode
  Process process(training({"data.train=big.txt"}), {.folder = dir_.path()});
  while (process.running() && !waits_for_signals(process)) std::this_thread::yield();
  process.signal(SIGTERM);
  const ProcessResult result = process.wait_at_most(kPatience);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.err, "\nstopped before the first step: there was nothing to save\n");
  EXPECT_FALSE(fs::exists(dir_ / "runs"));
}

TEST_F(ProcessGuard, AFileThatMayNotGrowIsAFullDisk) {
  const ProcessResult result = train({"run.name=r"}, {.max_file_bytes = 20'000});
  EXPECT_EQ(result.exit_code, 2);
  expect_contains(result.err, "cannot write runs/r/checkpoints/");
  expect_contains(result.err, "File too large; raise the limit on the size of files (ulimit -f)");
}

TEST_F(ProcessGuard, AShardThatIsCutWhileItTrains) {
  std::vector<std::int32_t> ids(500'000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7919 % 251);
  write_llmc_shard(dir_ / "s.bin", ids, 2);
  Process process(
      training({"run.name=r", "train.steps=1000000", "data.train=s.bin", "data.tokenizer=byte"}),
      {.folder = dir_.path()});
  const std::string checkpoint = dir_ / "runs/r/checkpoints/step-00000010";
  while (process.running() && !fs::exists(checkpoint))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fs::resize_file(dir_ / "s.bin", 2000);
  const ProcessResult result = process.wait_at_most(kPatience);
  EXPECT_EQ(result.exit_code, 2);
  expect_contains(result.err, "twill: s.bin: cut to a smaller size, or unreadable, while it was");
  write_llmc_shard(dir_ / "s.bin", ids, 2);
  Process again({"train", "--resume", "r", "train.steps=1000000"}, {.folder = dir_.path()});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  again.signal(SIGTERM);
  const ProcessResult resumed = again.wait_at_most(kPatience);
  EXPECT_EQ(resumed.exit_code, 130) << resumed.err;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// From too little to start to enough to train.
TEST_F(ProcessGuard, TooLittleAddressSpaceIsASentence) {
  bool trained = false;
  for (std::int64_t mib = 40; mib <= 400 && !trained; mib += mib < 120 ? 4 : 20) {
    const ProcessResult result = train({"train.steps=2"}, {.max_memory_bytes = mib << 20});
    trained = result.exit_code == 0;
    if (trained || result.exit_code == 127) continue;  // the loader has not found room for us
    EXPECT_EQ(result.exit_code, 2) << mib << " MiB: " << result.err;
    EXPECT_EQ(result.err.find("a bug of ours"), std::string::npos) << result.err;
    EXPECT_FALSE(result.err.empty()) << mib;
  }
  EXPECT_TRUE(trained);
}
#endif

}  // namespace
}  // namespace twill
