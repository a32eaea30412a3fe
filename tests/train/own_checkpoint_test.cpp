// SPDX-License-Identifier: Apache-2.0
// A checkpoint belongs to a run: what was changed by hand, renamed or copied from elsewhere is
// refused, and what decides bits beside the config is said.
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "io/tensors/safetensors.h"
#include "support/expect_error.h"
#include "train/planned_run.h"
#include "train/run/run_mark.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

class OwnCheckpoint : public testing::Test {
 protected:
  Outcome start(const std::string& name, std::vector<std::string> more = {},
                std::int64_t stop_after = 6) {
    more.insert(more.end(), {"run.dir=" + dir_.path(), "run.name=" + name});
    StopAfter listener(stop_after);
    return run_training({.config_file = "", .overrides = tiny_settings(more), .resume = ""},
                        listener, listener.stop);
  }
  Outcome resume(const std::string& name, const std::vector<std::string>& overrides = {}) {
    StopAfter listener(-1);
    return run_training({.config_file = "", .overrides = overrides, .resume = dir_ / name},
                        listener, listener.stop);
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::remove_all(dir_ / to);
    fs::copy(dir_ / from, dir_ / to, fs::copy_options::recursive);
  }
  std::string checkpoint(const std::string& run, int step) const {
    return dir_ / fmt::format("{}/checkpoints/step-{:08}", run, step);
  }
  // Weights and moments of the last step; empty without it.
  std::string end_of(const std::string& run) const {
    return content_of(checkpoint(run, 12) + "/model.safetensors") +
           content_of(checkpoint(run, 12) + "/state.safetensors");
  }
  std::string config_of(const std::string& run) const {
    return content_of(dir_ / (run + "/config.toml"));
  }

  TempDir dir_;
};

// Every way to change one character of the text that leaves TOML: another digit, another letter of
// a word, the other truth.
std::vector<std::string> changed_by_hand(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t i = 0, line = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line = i + 1;
    const std::size_t equals = text.find(" = ", line);
    if (equals == std::string::npos || i < equals + 3 || text.find('\n', line) < i) continue;
    const auto c = static_cast<unsigned char>(text[i]);
    std::string changed = text;
    if (std::isdigit(c)) {
      changed[i] = c == '9' ? '8' : static_cast<char>(c + 1);
    } else if (text.compare(i, 4, "true") == 0) {
      changed.replace(i, 4, "false");
    } else if (text.compare(i, 5, "false") == 0) {
      changed.replace(i, 5, "true");
    } else if (text[i] == '"') {
      changed.insert(i + 1, text[i - 1] == ' ' || text[i - 1] == '[' ? "x" : "");
      if (changed == text) continue;
    } else {
      continue;
    }
    all.push_back(std::move(changed));
  }
  return all;
}

// The line that differs, for messages.
std::string changed_line(const std::string& text, const std::string& changed) {
  std::size_t i = 0;
  while (text[i] == changed[i]) ++i;
  const std::size_t begin = changed.rfind('\n', i) + 1;
  return changed.substr(begin, changed.find('\n', i) - begin);
}

TEST_F(OwnCheckpoint, AChangeOfTheConfigByHandIsRefusedOrChangesNoBit) {
  start("whole", {}, -1);
  start("stopped");
  const std::string text = config_of("stopped"), end = end_of("whole");
  ASSERT_FALSE(end.empty());
  int refused = 0, same = 0, warned = 0;
  for (const std::string& changed : changed_by_hand(text)) {
    copy("stopped", "changed");
    dir_.write("changed/config.toml", changed);
    const HeardWarnings heard;
    try {
      resume("changed");
    } catch (const Error&) {
      ++refused;
      continue;
    }
    const std::string line = changed_line(text, changed);
    if (end_of("changed") == end) {
      ++same;
    } else {
      // What the command line may change with a warning.
      EXPECT_TRUE(line.starts_with("steps = ")) << line;
      EXPECT_TRUE(!heard.lines.empty() &&
                  heard.lines[0].starts_with("train.steps changes from 12 to "))
          << line;
      ++warned;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(same, 10);
  EXPECT_EQ(warned, 2) << "the digits of train.steps";
}

TEST_F(OwnCheckpoint, AChangeByHandIsRefusedLikeOneOfTheCommandLine) {
  start("a");
  const std::string text = config_of("a");
  for (const auto& [from, to, key_and_value] :
       {std::tuple{"seed = 1", "seed = 2", "train.seed=2"},
        {"lr = 0.002", "lr = 1.002", "optimizer.lr=1.002"},
        {"dropout = 0.0", "dropout = 0.5", "model.dropout=0.5"},
        {"norm_eps = 1e-05", "norm_eps = 2e-05", "model.norm_eps=2e-05"},
        {"validation_fraction = 0.1", "validation_fraction = 0.2", "data.validation_fraction=0.2"},
        {"beta2 = 0.99", "beta2 = 0.98", "optimizer.beta2=0.98"}}) {
    std::string told, changed = text;
    try {
      resume("a", {key_and_value});
    } catch (const Error& error) {
      told = error.what();
    }
    EXPECT_NE(told.find("it was started with"), std::string::npos) << told;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    dir_.write("a/config.toml", changed.replace(text.find(from), std::string(from).size(), to));
    expect_error([&] { resume("a"); }, told);
    dir_.write("a/config.toml", text);
  }
  EXPECT_EQ(resume("a"), Outcome::kDone) << "as it was";
}

TEST_F(OwnCheckpoint, AnEntryThatIsAddedToAListOrTakenAwayIsRefused) {
  start("a", {"optimizer.group=[{match='*.bias', lr_scale=0.5}]"});
  const std::string text = config_of("a");
  dir_.write("a/config.toml", text + "\n[[optimizer.group]]\nmatch = \"*\"\nlr_scale = 2.0\n");
  expect_error([&] { resume("a"); },
               "optimizer.group.1.match = \"*\": it was started with (absent)");
  const std::size_t group = text.find("[[optimizer.group]]");
  ASSERT_NE(group, std::string::npos);
  const std::size_t end = text.find("\n[", group + 1);
  dir_.write("a/config.toml", text.substr(0, group) + text.substr(end + 1));
  expect_error([&] { resume("a"); }, "optimizer.group.0.lr_scale = (absent)");
}

TEST_F(OwnCheckpoint, OfAnotherRunIsRefused) {
  start("a");
  start("b", {"train.seed=2"});
  start("c");
  for (const char* other : {"b", "c"}) {
    copy("a", "mixed");
    fs::remove_all(checkpoint("mixed", 6));
    fs::copy(checkpoint(other, 6), checkpoint("mixed", 6));
    expect_error([&] { resume("mixed"); }, "step-00000006 belongs to another run: it was saved by");
  }
  fs::remove(checkpoint("a", 6) + "/run.safetensors");
  expect_error([&] { resume("a"); }, "was saved by a run without an id, and");
}

TEST_F(OwnCheckpoint, UnderAnotherNameIsRefused) {
  start("a");
  fs::rename(checkpoint("a", 6), checkpoint("a", 99));
  expect_error([&] { resume("a"); },
               "step-00000099 holds the state of step 6: the folder was renamed");
  fs::rename(checkpoint("a", 99), checkpoint("a", 6));
  EXPECT_EQ(resume("a"), Outcome::kDone);
}

TEST_F(OwnCheckpoint, DamageIsCalledDamage) {
  start("a");
  const std::string file = checkpoint("a", 6) + "/run.safetensors";
  std::string content = content_of(file);
  content[content.find("train.seed = 1") + 13] = '2';
  dir_.write("a/checkpoints/step-00000006/run.safetensors", content);
  expect_error([&] { resume("a"); }, "run.safetensors: checksum mismatch");
}

TEST_F(OwnCheckpoint, EveryRunHasAnIdOfItsOwn) {
  start("a");
  StopAfter listener(-1);
  run_training({.config_file = dir_ / "a/config.toml", .overrides = {"run.name=b"}, .resume = ""},
               listener, listener.stop);
  start("c", {"run.id=mine"});
  const std::string a = read_mark(checkpoint("a", 6))->run, b = read_mark(checkpoint("b", 12))->run;
  EXPECT_EQ(a.size(), 32u);
  EXPECT_NE(a, b) << "the config of another run starts a new one";
  EXPECT_EQ(read_mark(checkpoint("c", 6))->run, "mine");
  expect_error([&] { resume("a", {"run.id=" + b + "x"}); }, "with run.id = ");
  EXPECT_NE(content_of(dir_ / "a/facts.json").find(a), std::string::npos);
}

// As earlier builds wrote it: no id in the config, no mark in the checkpoint.
TEST_F(OwnCheckpoint, OfAnEarlierBuildGoesOn) {
  start("whole", {}, -1);
  start("old");
  std::string text = config_of("old");
  const std::size_t id = text.find("id = ");
  text.erase(id, text.find('\n', id) + 1 - id);
  dir_.write("old/config.toml", text);
  fs::remove(checkpoint("old", 6) + "/run.safetensors");
  std::string other = text;
  dir_.write("old/config.toml", other.replace(other.find("dropout = 0.0"), 13, "dropout = 0.5"));
  expect_error([&] { resume("old"); }, "with model.dropout = 0.5: it was started with 0.0");
  dir_.write("old/config.toml", text);
  EXPECT_EQ(resume("old"), Outcome::kDone);
  EXPECT_EQ(end_of("old"), end_of("whole"));
  EXPECT_EQ(resume("old"), Outcome::kDone) << "and from what it saved itself";
}

TEST_F(OwnCheckpoint, OtherArithmeticIsSaid) {
  start("a");
  const std::string path = checkpoint("a", 6);
  RunMark mark = *read_mark(path);
  EXPECT_TRUE(mark.arithmetic.starts_with("cpu: " + cpu_table().describe())) << mark.arithmetic;
  mark.arithmetic = "cpu: an abacus";
  const std::string weights =
      SafetensorsFile(path + "/model.safetensors").metadata().at("twill.weights");
  write_mark(Folder::open(path), mark, weights);
  const HeardWarnings heard;
  EXPECT_EQ(resume("a"), Outcome::kDone);
  ASSERT_EQ(heard.lines.size(), 1u);
  EXPECT_TRUE(heard.lines[0].starts_with(path + " was trained with cpu: an abacus; this process"))
      << heard.lines[0];
}

}  // namespace
}  // namespace twill
