// SPDX-License-Identifier: Apache-2.0
#include "train/run/facts_file.h"

#include <filesystem>
#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/build_facts.h"
#include "train/planned_run.h"
#include "twill/version.h"

namespace twill {
namespace {

using nlohmann::json;

class FactsFile : public testing::Test {
 protected:
  Outcome start(std::vector<std::string> more, std::int64_t stop_after = -1) {
    more.insert(more.end(), {"run.dir=" + dir_.path(), "run.name=r"});
    StopAfter listener(stop_after);
    return run_training({.config_file = "",
                         .overrides = tiny_settings(more),
                         .resume = "",
                         .arguments = {"train", "a word"}},
                        listener, listener.stop);
  }
  Outcome resume() {
    StopAfter listener(-1);
    return run_training({.config_file = "",
                         .overrides = {"run.dir=" + dir_.path()},
                         .resume = "r",
                         .arguments = {"train", "--resume", "r"}},
                        listener, listener.stop);
  }
  std::string path() const { return dir_ / "r/facts.json"; }
  json facts() const { return json::parse(content_of(path())); }

  static void expect_process(const json& process) {
    EXPECT_TRUE(std::regex_match(process.at("time").get<std::string>(),
                                 std::regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ")))
        << process.at("time");
    EXPECT_EQ(process.at("twill").at("version"), kVersion);
    EXPECT_EQ(process.at("twill").at("commit"), std::string(build_facts().commit));
    EXPECT_GE(process.at("machine").at("processors"), 1);
    EXPECT_GT(process.at("machine").at("memory_bytes"), 0);
    EXPECT_TRUE(process.at("machine").contains("cpu"));
    EXPECT_TRUE(process.at("machine").at("gpu").is_null()) << "none trains here";
    EXPECT_EQ(process.at("backend").at("name"), "cpu");
    EXPECT_EQ(process.at("backend").at("threads"), 1);
    EXPECT_EQ(process.at("backend").at("uses"), cpu_table().describe());
  }

  TempDir dir_;
};

TEST_F(FactsFile, SaysWhatRanWhereAndHow) {
  ASSERT_EQ(start({"recipe=fst", "recipe.execution=packed"}), Outcome::kDone);
  const json facts = this->facts();
  expect_process(facts.at("start"));
  EXPECT_EQ(facts.at("start").at("arguments"), (json{"train", "a word"}));
  EXPECT_GT(facts.at("parameters"), 0);
  EXPECT_GT(facts.at("data").at("train_tokens"), 0);
  EXPECT_EQ(facts.at("data").at("sources").size(), 1u);
  EXPECT_FALSE(facts.at("data").at("hash").get<std::string>().empty());
  EXPECT_GT(facts.at("memory_bytes").at("weights"), 0);
  EXPECT_GT(facts.at("dense_memory_bytes").at("weights"), 0);
  EXPECT_EQ(facts.at("config").at("train").at("steps"), 12);
  EXPECT_EQ(facts.at("config").at("run").at("name"), "r");
  EXPECT_EQ(facts.at("config").at("recipe").at("name"), "fst");
  EXPECT_EQ(facts.at("config").at("recipe").at("phase").size(), 2u) << "resolved";
  EXPECT_EQ(facts.at("plan").at("execution"), "packed");
  EXPECT_FALSE(facts.at("plan").at("layer").empty());
  EXPECT_TRUE(facts.at("resumes").empty());
  EXPECT_NE(content_of(path()).find("\n  \"config\": {\n"), std::string::npos) << "to be read";
}

TEST_F(FactsFile, OfADenseRunHasNoPlan) {
  ASSERT_EQ(start({"train.steps=1"}), Outcome::kDone);
  EXPECT_TRUE(facts().at("plan").is_null());
  EXPECT_TRUE(facts().at("dense_memory_bytes").is_null());
}

TEST_F(FactsFile, SurvivesResumes) {
  ASSERT_EQ(start({}, 3), Outcome::kInterrupted);
  const json before = facts();
  ASSERT_EQ(resume(), Outcome::kDone);
  ASSERT_EQ(resume(), Outcome::kDone);
  json after = facts();
  const json resumes = after.at("resumes");
  ASSERT_EQ(resumes.size(), 2u);
  EXPECT_EQ(resumes[0].at("step"), 3);
  EXPECT_EQ(resumes[1].at("step"), 12);
  for (const json& entry : resumes) expect_process(entry);
  EXPECT_EQ(resumes[0].at("arguments"), (json{"train", "--resume", "r"}));
  after.at("resumes") = json::array();
  EXPECT_EQ(after, before) << "the start stays as it was";
}

// A run of an older build has none; the run does not depend on what somebody did to it.
TEST_F(FactsFile, IsWrittenAnewWhereItIsMissingOrDamaged) {
  ASSERT_EQ(start({}, 3), Outcome::kInterrupted);
  std::filesystem::remove(path());
  const HeardWarnings heard;
  ASSERT_EQ(resume(), Outcome::kDone);
  EXPECT_TRUE(heard.lines.empty());
  EXPECT_TRUE(facts().at("start").is_null()) << "nobody knows";
  EXPECT_EQ(facts().at("config").at("train").at("steps"), 12);
  EXPECT_EQ(facts().at("resumes").size(), 1u);
  for (const char* damaged : {"{\"start\":", "[1, 2]"}) {
    dir_.write("r/facts.json", damaged);
    const HeardWarnings said;
    ASSERT_EQ(resume(), Outcome::kDone);
    ASSERT_EQ(said.lines.size(), 1u) << damaged;
    EXPECT_NE(said.lines[0].find("it is written anew"), std::string::npos) << said.lines[0];
    EXPECT_EQ(facts().at("resumes").size(), 1u);
  }
}

}  // namespace
}  // namespace twill
