// SPDX-License-Identifier: Apache-2.0
// The commands and their exit codes, from outside.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <regex>
#include <thread>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "io/temp_dir.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

class Command : public testing::Test {
 protected:
  ProcessResult twill(const std::vector<std::string>& arguments) const {
    return run_twill(arguments, {.folder = dir_.path()});
  }
  std::vector<std::string> train(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"train"};
    for (const std::string& setting : tiny_settings(more)) words.push_back(setting);
    return words;
  }

  // Until the run has taken its first step: on a slow machine that is long after the start.
  void wait_for_step(Process& process, const std::string& run) const {
    const std::string metrics = dir_ / ("runs/" + run + "/metrics.jsonl");
    while (process.running() && content_of(metrics).find("\"loss\"") == std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  TempDir dir_;
};

TEST_F(Command, TrainsEvaluatesAndSamples) {
  const ProcessResult trained = twill(train({"log.sample_tokens=20"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_contains(trained.out, "step 12/12");
  expect_contains(trained.out, "a sample of what it writes now:");

  const ProcessResult evaluated = twill({"eval", "gpt-001"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  expect_contains(evaluated.out, "step           12");
  expect_contains(evaluated.out, "bits per byte");

  const std::vector<std::string> words{"sample", "gpt-001", "--prompt", "Once",          "--tokens",
                                       "30",     "--seed",  "4",        "--temperature", "1.5"};
  const ProcessResult sampled = twill(words);
  EXPECT_EQ(sampled.exit_code, 0) << sampled.err;
  EXPECT_TRUE(sampled.out.starts_with("Once"));
  EXPECT_EQ(sampled.out.size(), 4u + 30u + 1u);
  EXPECT_EQ(twill(words).out, sampled.out) << "the same seed writes the same text";
}

TEST_F(Command, EvaluatesTextsAndTasks) {
  ASSERT_EQ(twill(train({"train.steps=1"})).exit_code, 0);
  dir_.write("a.txt", "Some text, longer than the context.");
  dir_.write("q.jsonl", "{\"query\": \"A\", \"choices\": [\"b\", \"cd\"], \"label\": 1}\n");
  dir_.write("data/lambada_x.jsonl", "{\"text\": \"one two\"}\n{\"text\": \"a b\"}\n");
  const ProcessResult result =
      twill({"eval", "gpt-001", "--text", "a.txt", "--text", "a.txt", "--tasks", "q.jsonl,lambada",
             "--data", "data", "--json", "out.json", "--details", "lines.jsonl"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_contains(result.out, "bits per byte");
  expect_contains(result.out, "acc_norm");
  expect_contains(result.out, "perplexity");
  const std::string json = content_of(dir_ / "out.json"), lines = content_of(dir_ / "lines.jsonl");
  expect_contains(json, "\"task\": \"lambada\"");
  expect_contains(json, "\"bytes\": 35");
  expect_contains(lines, "\"label\": 1");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
}

TEST_F(Command, EvalSaysWhatItMisses) {
  ASSERT_EQ(twill(train({"train.steps=1"})).exit_code, 0);
  expect_contains(twill({"eval", "gpt-001", "--tasks", "piqa"}).err,
                  "--tasks piqa needs --data DIR, the folder with its file");
  expect_contains(twill({"eval", "gpt-001", "--tasks", "all", "--data", "."}).err,
                  "no file of any known task");
  expect_contains(twill({"eval", "gpt-001", "--json", "x"}).err,
                  "--json and --details belong to --tasks and --text");
  dir_.write("empty.txt", "");
  expect_contains(twill({"eval", "gpt-001", "--text", "empty.txt"}).err,
                  "empty.txt: the text is empty");
}

// The evaluation of a finished run is the last line of its metrics, to the digit.
TEST_F(Command, EvalEqualsTheLastEvaluationOfTheRun) {
  ASSERT_EQ(twill(train()).exit_code, 0);
  const std::string metrics = content_of(dir_ / "runs/gpt-001/metrics.jsonl");
  const double logged = std::stod(metrics.substr(metrics.rfind("\"val_loss\":") + 11));
  const std::string out = twill({"eval", "runs/gpt-001"}).out;
  const double evaluated = std::stod(out.substr(out.find("val_loss") + 8));
  EXPECT_NEAR(evaluated, logged, 5e-7) << "printed with six decimals";
  EXPECT_NE(twill({"eval", "gpt-001", "eval.windows=2"}).out, out);
}

TEST_F(Command, EvalNeedsOnlyTheTextItMeasures) {
  dir_.write("train.txt", std::string(4000, 'a') + std::string(500, 'b'));
  dir_.write("other.txt", std::string(60, 'a'));
  ASSERT_EQ(twill(train({"data.train=train.txt"})).exit_code, 0);
  std::filesystem::remove(dir_ / "train.txt");
  const ProcessResult result = twill({"eval", "gpt-001", "data.validation=other.txt"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_contains(result.out, "tokens         48");
}

TEST_F(Command, SaysSoWhenNobodyCanRead) {
  const ProcessResult result =
      run_twill({"config"}, {.folder = dir_.path(), .out_file = "/dev/full"});
  EXPECT_EQ(result.exit_code, 2);
  expect_contains(result.err, "cannot write to standard output: No space left on device");
}

TEST_F(Command, ConfigPrintsWhatItReadsBack) {
  const ProcessResult first = twill({"config", "model=tiny-llama", "train.steps=7"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  expect_contains(first.out, "steps = 7");
  dir_.write("again.toml", first.out);
  EXPECT_EQ(twill({"config", "again.toml"}).out, first.out);
}

TEST_F(Command, ConfigHelpExplainsEveryKey) {
  const std::string help = twill({"config", "--help"}).out;
  for (const char* key : {"run.name", "run.dir", "train.steps", "train.seed", "checkpoint.every",
                          "model.name", "model.ffn.activation", "recipe.name", "device",
                          "data.train", "train.on_nonfinite", "optimizer.group"})
    expect_contains(help, key);
}

TEST_F(Command, ConfigDocsAreUpToDate) {
  const std::string docs = content_of(TWILL_SOURCE_DIR "/docs/config.md");
  EXPECT_NE(docs.find(twill({"config", "--help"}).out), std::string::npos)
      << "run tools/write_config_docs.sh";
}

TEST_F(Command, InfoNamesTheBackends) {
  const ProcessResult info = twill({"info"});
  EXPECT_EQ(info.exit_code, 0);
  expect_contains(info.out, "backend     cpu");
  expect_contains(info.out, "backend     reference");
}

TEST_F(Command, BenchStepShowsWhereTheTimeGoes) {
  const ProcessResult bench = twill({"bench", "step", "model.layers=1", "model.width=32",
                                     "model.context=32", "--steps", "2", "--json", "bench.json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  expect_contains(bench.out, "attention_backward");
  expect_contains(bench.out, "step / floor");
  expect_contains(content_of(dir_ / "bench.json"), "\"step_over_floor\":");
  const ProcessResult unknown = twill({"bench", "lunch"});
  EXPECT_EQ(unknown.exit_code, 2);
  expect_contains(unknown.err, "unknown benchmark 'lunch'; expected step");
}

TEST_F(Command, HelpAndVersion) {
  EXPECT_EQ(twill({}).exit_code, 0);
  expect_contains(twill({"--help"}).out, "train");
  expect_contains(twill({"--version"}).out, "twill 0.");
}

TEST_F(Command, UnknownWordsNameTheNearest) {
  const ProcessResult command = twill({"trian"});
  EXPECT_EQ(command.exit_code, 2);
  expect_contains(command.err, "twill: unknown word 'trian'; did you mean 'train'?");
  const ProcessResult option = twill({"sample", "x", "--prompd", "a"});
  EXPECT_EQ(option.exit_code, 2);
  expect_contains(option.err, "unknown word '--prompd'; did you mean '--prompt'?");
}

TEST_F(Command, OptionsThatAreSettingsLeadToTheKey) {
  const auto error = [&](const std::vector<std::string>& words) {
    const ProcessResult result = twill(words);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_EQ(error({"train", "--steps", "10"}),
            "twill: unknown option '--steps'; settings are written key=value: train.steps=10\n");
  EXPECT_EQ(
      error({"train", "--lr=3e-4"}),
      "twill: unknown option '--lr=3e-4'; settings are written key=value: optimizer.lr=3e-4\n");
  EXPECT_EQ(error({"train", "--data", "my book.txt"}),
            "twill: unknown option '--data'; settings are written key=value: data.train='my "
            "book.txt'\n");
  EXPECT_EQ(error({"train", "--model", "small"}),
            "twill: unknown option '--model'; settings are written key=value: model=small\n");
  EXPECT_EQ(error({"train", "--optimizer.lr", "1"}),
            "twill: unknown option '--optimizer.lr'; settings are written key=value: "
            "optimizer.lr=1\n");
  EXPECT_EQ(error({"train", "--learning-rate"}),
            "twill: unknown option '--learning-rate'; settings are written key=value: "
            "optimizer.lr=VALUE\n");
  EXPECT_EQ(
      error({"tune", "decay", "--batch_size", "4"}),
      "twill: unknown option '--batch_size'; settings are written key=value: "
      "train.micro_batch=4 (sequences at once; train.batch_tokens: the tokens of an optimizer "
      "step)\n");
  expect_contains(error({"train", "--config", "a.toml"}), "a config file is given by itself");
  expect_contains(error({"train", "--resum", "x"}), "did you mean '--resume'?");
  EXPECT_EQ(error({"quarks"}),
            "twill: unknown word 'quarks'; `twill --help` lists what there is\n");
  EXPECT_EQ(error({"tune", "decay", "--quarks"}),
            "twill: unknown word '--quarks'; `twill tune decay --help` lists what there is\n");
}

TEST_F(Command, HelpOfABenchmarkShowsItsOwnOptions) {
  const std::string gemm = twill({"bench", "gemm", "--help"}).out;
  for (const char* own : {"--shapes", "--tokens", "--patterns", "--seconds", "--json"})
    expect_contains(gemm, own);
  for (const char* other : {"--turns", "--against-dense", "--rounds", "--at ", "--tokenizer"})
    EXPECT_EQ(gemm.find(other), std::string::npos) << other;
  const std::string step = twill({"bench", "step", "--help"}).out;
  expect_contains(step, "--against-dense");
  EXPECT_EQ(step.find("--shapes"), std::string::npos);
  const std::string all = twill({"bench", "--help"}).out;
  for (const char* option : {"--shapes", "--turns", "--tokenizer"}) expect_contains(all, option);
}

TEST_F(Command, RunsAreListedAndPruned) {
  expect_contains(twill({"runs"}).out, "no runs in runs");
  ASSERT_EQ(twill(train({"run.name=a"})).exit_code, 0);
  ASSERT_EQ(twill(train({"run.name=b", "recipe=ste"})).exit_code, 0);
  const ProcessResult list = twill({"runs"});
  ASSERT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(std::regex_search(
      list.out, std::regex("\na +dense +tiny .*12/12 +[0-9.]+ +[0-9.]+ [KM]iB +20")))
      << list.out;
  expect_contains(list.out, "2 runs, ");
  expect_contains(list.out, "tools/plot_metrics.py runs/a runs/b --out losses.svg");
  const std::string older = dir_ / "runs/a/checkpoints/step-00000010";
  const ProcessResult asked = twill({"runs", "--prune"});
  EXPECT_EQ(asked.exit_code, 2) << "a test is no terminal";
  expect_contains(asked.out, "remove runs/a/checkpoints/step-00000010");
  expect_contains(asked.err, "nothing is removed: there is nobody to ask; give --yes");
  EXPECT_TRUE(std::filesystem::exists(older));
  expect_contains(twill({"runs", "a", "--prune", "--yes"}).out, "freed ");
  EXPECT_FALSE(std::filesystem::exists(older));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "runs/a/checkpoints/step-00000012"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "runs/b/checkpoints/step-00000010"));
  EXPECT_EQ(twill({"train", "--resume", "a", "train.steps=14"}).exit_code, 0);
}

TEST_F(Command, AResumedRunEndsWithItsOwnFirstLoss) {
  const ProcessResult first = twill(train({"run.name=a"}));
  std::smatch loss;
  ASSERT_TRUE(std::regex_search(first.out, loss, std::regex("validation loss ([0-9.]+) -> ")));
  const std::string begun = loss[1];
  const ProcessResult more = twill({"train", "--resume", "a", "train.steps=14"});
  expect_contains(more.out, "validation loss " + begun + " -> ");
  expect_contains(more.out, "; since the resume ");
}

TEST_F(Command, TheHeadSaysWhatValidatesAndWhatTheTextIs) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "a line of a book\n";
  dir_.write("book.txt", text);
  const ProcessResult plain = twill(train({"data=book.txt", "run.name=plain"}));
  expect_contains(plain.out, "to validate on: the last 10%\n");
  expect_contains(plain.out,
                  "         book.txt is one document: no line <|endoftext|> divides it\n");
  dir_.write("parts/train.txt", text);
  dir_.write("parts/val.txt", text.substr(0, 500));
  const ProcessResult parts = twill(train({"data.train=parts", "run.name=parts"}));
  expect_contains(parts.out, " 500 to validate on: parts/val.txt\n");
  expect_contains(content_of(dir_ / "runs/parts/facts.json"),
                  "\"validated_by\": \"parts/val.txt\"");
}

TEST_F(Command, AWidthThatAPatternCannotDivideIsRefusedWithTheKey) {
  const ProcessResult refused =
      twill(train({"recipe=fst", "recipe.execution=auto", "model.width=18", "model.heads=2"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err,
            "twill: recipe: weights.pattern = \"2:4-transposable\" needs the inputs of "
            "blocks.0.ffn.input to be a multiple of 4, got 18; change model.width (the nearest is "
            "20), leave the layer out with recipe.layers, or set recipe=dense\n");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs"));
}

TEST_F(Command, ARunOfOneStepTrainsWithARecipeOfSeveralPhases) {
  const ProcessResult one =
      twill(train({"recipe=fst", "train.steps=1", "schedule.warmup_steps=0"}));
  EXPECT_EQ(one.exit_code, 0) << one.err;
}

TEST_F(Command, TheFirstSignalSavesAndExits130) {
  for (const int number : {SIGINT, SIGTERM}) {
    const std::string name = "signal-" + std::to_string(number);
    Process process(train({"run.name=" + name, "train.steps=1000000", "checkpoint.every=0"}),
                    {.folder = dir_.path()});
    wait_for_step(process, name);
    process.signal(number);
    const ProcessResult result = process.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    expect_contains(result.out, "go on with   twill train --resume runs/" + name);
    EXPECT_TRUE(std::filesystem::exists(dir_ / ("runs/" + name + "/checkpoints")));
  }
}

// kill -9 at random moments, resume, compare. tools/kill_and_resume.sh does twenty rounds.
TEST_F(Command, KilledAndResumedEqualsUninterrupted) {
  const std::vector<std::string> long_run{"train.steps=60", "checkpoint.every=7", "eval.every=9"};
  const auto named = [&](const std::string& name) {
    std::vector<std::string> more = long_run;
    more.push_back("run.name=" + name);
    return train(more);
  };
  ASSERT_EQ(twill(named("whole")).exit_code, 0);
  int kills = 0;
  {
    Process first(named("killed"), {.folder = dir_.path()});
    wait_for_step(first, "killed");
    kills += first.running() ? 1 : 0;
    first.signal(SIGKILL);
    first.wait();
  }
  for (int round = 0; round < 6; ++round) {
    Process next({"train", "--resume", "killed"}, {.folder = dir_.path()});
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + 23 * round));
    kills += next.running() ? 1 : 0;
    next.signal(SIGKILL);
    next.wait();
  }
  const ProcessResult last = twill({"train", "--resume", "killed"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_GT(kills, 0);
  const std::string end = "/checkpoints/step-00000060/";
  for (const char* file : {"model.safetensors", "state.safetensors"})
    EXPECT_EQ(content_of(dir_ / ("runs/whole" + end + file)),
              content_of(dir_ / ("runs/killed" + end + file)));
  const std::regex time(",\"tokens_per_s\":[^,}]*");
  const auto timeless = [&](const char* run) {
    return std::regex_replace(content_of(dir_ / (std::string("runs/") + run + "/metrics.jsonl")),
                              time, "");
  };
  EXPECT_EQ(timeless("whole"), timeless("killed"));
}

#if defined(__x86_64__)
// oneDNN told to keep to a smaller instruction set gives other weights.
TEST_F(Command, SaysThatAResumeComputesByOtherInstructions) {
  ASSERT_EQ(twill(train({"run.name=a", "train.steps=4"})).exit_code, 0);
  const auto resumed = [&] { return twill({"train", "--resume", "a", "train.steps=5"}); };
  ::setenv("DNNL_MAX_CPU_ISA", "SSE41", /*overwrite=*/1);
  const ProcessResult other = resumed();
  ::unsetenv("DNNL_MAX_CPU_ISA");
  ASSERT_EQ(other.exit_code, 0) << other.err;
  expect_contains(other.err, "step-00000004 was trained with cpu: ");
  expect_contains(other.err, " with SSE4; glibc");
  expect_contains(other.err, "the bits may differ");
}
#endif

// The hexadecimal signal mask under `key` in a /proc status file.
std::uint64_t signal_mask(const std::string& status, const std::string& key) {
  const std::size_t at = status.find(key + ":");
  EXPECT_NE(at, std::string::npos);
  return std::stoull(status.substr(at + key.size() + 1), nullptr, 16);
}

// A handler could run on oneDNN's stack in the heap and write over it (docs/decisions/002-signals.md).
// Whether it does harm is luck; that none can run is not.
TEST_F(Command, NoSignalHandlerRunsDuringTraining) {
  Process process(train({"run.name=masked", "train.steps=1000000", "threads=3"}),
                  {.folder = dir_.path()});
  wait_for_step(process, "masked");
  int threads = 0, open_to_signals = 0;
  std::uint64_t stops = 0;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) stops |= std::uint64_t{1} << (number - 1);
  for (const auto& task : std::filesystem::directory_iterator(process.proc_folder() + "/task")) {
    const std::string status = content_of(task.path().string() + "/status");
    ++threads;
    open_to_signals += (signal_mask(status, "SigBlk") & stops) == stops ? 0 : 1;
    EXPECT_EQ(signal_mask(status, "SigCgt") & stops, 0u) << "no handler is installed";
  }
  EXPECT_GE(threads, 4) << "two workers, the main thread and the one that waits";
  EXPECT_LE(open_to_signals, 1) << "only the thread that waits for signals sees them";
}

TEST_F(Command, InterruptedAgainAndAgainEqualsUninterrupted) {
  const std::vector<std::string> settings{"model.width=64", "model.context=64", "train.steps=120",
                                          "checkpoint.every=0"};
  std::vector<std::string> whole = settings, often = settings;
  whole.push_back("run.name=whole");
  often.push_back("run.name=often");
  ASSERT_EQ(twill(train(whole)).exit_code, 0);
  const auto interrupted = [&](const std::vector<std::string>& words, int milliseconds) {
    Process process(words, {.folder = dir_.path()});
    wait_for_step(process, "often");
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.signal(SIGINT);
    return process.wait().exit_code;
  };
  interrupted(train(often), 5);
  for (int round = 0; round < 10; ++round) {
    const int code = interrupted({"train", "--resume", "often"}, 30 + round % 17);
    ASSERT_TRUE(code == 130 || code == 0) << "round " << round << ": " << code;
  }
  ASSERT_EQ(twill({"train", "--resume", "often"}).exit_code, 0);
  const std::string end = "/checkpoints/step-00000120/model.safetensors";
  EXPECT_EQ(content_of(dir_ / ("runs/whole" + end)), content_of(dir_ / ("runs/often" + end)));
}

}  // namespace
}  // namespace twill
