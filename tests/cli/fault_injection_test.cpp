// SPDX-License-Identifier: Apache-2.0
// A system that runs short at any moment of a run (tools/fault_injection/faults.cpp). A few moments of
// every kind here, many with tools/fault_injection.sh.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "io/temp_dir.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

std::int64_t wish(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

const std::string kPreload = std::string("LD_PRELOAD=") + TWILL_FAULTS;

// The recipe decides which state there is to lose.
class FaultInjection : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> arguments() const {
    // As few as let the topology of mst move in its first phase.
    const std::int64_t steps = wish("TWILL_FAULT_STEPS", 30);
    const std::string recipe = GetParam();
    std::vector<std::string> more{"recipe=" + recipe,
                                  "run.name=r",
                                  "threads=2",
                                  "model.width=32",
                                  "schedule.warmup_steps=1",
                                  "eval.every=15",
                                  "checkpoint.every=" + std::to_string(steps / 3),
                                  "train.steps=" + std::to_string(steps)};
    if (recipe == "venom") more.push_back("model.ffn.activation=relu2");
    for (const char* phase : {"0", "2"})
      if (recipe == "mst")
        more.push_back("recipe.phase." + std::string(phase) + ".topology.interval=2");
    std::vector<std::string> words{"train"};
    for (const std::string& setting : tiny_settings(more)) words.push_back(setting);
    return words;
  }
  // Beside the run's folder: what it leaves is not what is compared.
  std::map<std::string, std::int64_t> count_calls() const {
    const TempDir dir;
    const std::string file = dir / "counts";
    const ProcessResult whole =
        run_twill(arguments(),
                  {.folder = dir.path(), .environment = {kPreload, "TWILL_FAULT_COUNTS=" + file}});
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    std::map<std::string, std::int64_t> counts;
    std::ifstream lines(file);
    std::string kind;
    for (std::int64_t calls = 0; lines >> kind >> calls;) counts[kind] = calls;
    return counts;
  }
  static std::string final_model(const TempDir& dir) {
    std::string last;
    for (const auto& entry : fs::directory_iterator(dir / "runs/r/checkpoints"))
      last = std::max(last, entry.path().string());
    return content_of(last + "/model.safetensors") + content_of(last + "/state.safetensors");
  }

  void refuse(const std::string& fault, const std::string& expected) const {
    SCOPED_TRACE(fault);
    const TempDir dir;
    const ProcessResult result = run_twill(
        arguments(), {.folder = dir.path(), .environment = {kPreload, "TWILL_FAULT=" + fault}});
    // What the program can do without may be refused it.
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << result.exit_code << result.err;
    if (result.exit_code != 0) expect_contains(result.err, "twill: ");
    EXPECT_EQ(result.err.find("a bug of ours"), std::string::npos) << result.err;
    expect_saved(dir, result.out);
    if (!fs::exists(dir / "runs/r/config.toml")) return;  // nothing had begun
    const ProcessResult resumed = run_twill({"train", "--resume", "r"}, {.folder = dir.path()});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_TRUE(final_model(dir) == expected) << "resumed to other bits";
  }
  // The last checkpoint that it called saved is there, or one behind it.
  static void expect_saved(const TempDir& dir, const std::string& out) {
    const std::size_t line = out.rfind("saved runs/r/checkpoints/");
    if (line == std::string::npos) return;
    const std::string name = out.substr(line + 25, 13);
    std::string last;
    for (const auto& entry : fs::directory_iterator(dir / "runs/r/checkpoints"))
      if (entry.path().filename().string().starts_with("step-"))
        last = std::max(last, entry.path().filename().string());
    EXPECT_GE(last, name) << "a checkpoint is lost";
  }
};

TEST_P(FaultInjection, LosesNothing) {
  const TempDir dir;
  ASSERT_EQ(run_twill(arguments(), {.folder = dir.path()}).exit_code, 0);
  const std::string expected = final_model(dir);
  const std::map<std::string, std::int64_t> counts = count_calls();
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [kind, calls] : counts) {
    EXPECT_GT(calls, 0) << kind << " is not counted";
    const std::int64_t tries = std::min(calls, wish("TWILL_FAULT_TRIES", kind == "alloc" ? 8 : 2));
    for (std::int64_t i = 0; i < tries; ++i) {
      // The first, the last, and between them the odd places of equal parts.
      const std::int64_t call = 1 + i * (calls - 1) / std::max<std::int64_t>(1, tries - 1);
      refuse(kind + ":" + std::to_string(call) + (i % 2 == 0 ? "" : ":on"), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, FaultInjection, testing::Values("dense", "fst", "mst", "venom"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace twill
