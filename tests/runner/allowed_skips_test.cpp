// SPDX-License-Identifier: Apache-2.0
// tests/allowed_skips.txt: no machine skips all that is allowed, so what is no longer skipped anywhere
// is looked for in the sources.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runner/results.h"

namespace twill::runner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTests = TWILL_SOURCE_DIR "/tests";

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What the sources of tests say, one behind the other, but for this one.
std::string sources() {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(kTests)) {
    const fs::path& path = entry.path();
    if (path.filename() != "allowed_skips_test.cpp" &&
        (path.extension() == ".cpp" || path.extension() == ".h"))
      text += content(path);
  }
  return text;
}

std::vector<std::string> test_names() {
  std::vector<std::string> names;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t)
      names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
  }
  return names;
}

struct AllowedSkip {
  Pattern name;
  std::string reason;
};

std::vector<AllowedSkip> allowed_skips() {
  const std::string path = std::string(kTests) + "/allowed_skips.txt";
  std::vector<AllowedSkip> skips;
  for (const Pattern& pattern : parse_patterns(content(path), path)) {
    const std::size_t colon = pattern.glob.find(": ");
    if (colon == std::string::npos) {
      ADD_FAILURE() << path << ": '" << pattern.glob << "' is not NAME: REASON";
      continue;
    }
    skips.push_back({{pattern.glob.substr(0, colon), pattern.why}, pattern.glob.substr(colon + 2)});
  }
  return skips;
}

// Is there a text in quotes that is the reason, up to its first *? Without one it ends where the text
// ends.
bool is_given(const std::string& reason, const std::string& all_sources) {
  const std::size_t star = reason.find('*');
  const std::string quoted = '"' + reason.substr(0, star) + (star == std::string::npos ? "\"" : "");
  return all_sources.find(quoted) != std::string::npos;
}

TEST(AllowedSkips, NameTestsThatThereAre) {
  const std::vector<std::string> names = test_names();
  const std::vector<AllowedSkip> skips = allowed_skips();
  EXPECT_FALSE(skips.empty());
  for (const AllowedSkip& skip : skips)
    EXPECT_TRUE(dead_patterns({skip.name}, names).empty())
        << "tests/allowed_skips.txt: no test is called " << skip.name.glob;
}

TEST(AllowedSkips, GiveReasonsThatTestsGive) {
  const std::string all_sources = sources();
  EXPECT_TRUE(is_given("no such thing here", all_sources)) << "the sample of runner_test.cpp";
  EXPECT_FALSE(is_given("no such thing", all_sources));
  EXPECT_TRUE(is_given("no such thing*", all_sources));
  for (const AllowedSkip& skip : allowed_skips())
    EXPECT_TRUE(is_given(skip.reason, all_sources))
        << "tests/allowed_skips.txt: no test is skipped with the words '" << skip.reason << "'";
}

}  // namespace
}  // namespace twill::runner
