// SPDX-License-Identifier: Apache-2.0
// twill_tests [--gtest_…]                 GoogleTest as everybody knows it
// twill_tests --names                     the names of all tests, scripts among them
// twill_tests --run [--except=FILE] [REGEX]
//                                         those that match, in several processes, and a report
//
// With CI=true in the environment a skipped test that tests/allowed_skips.txt does not list is a
// failure. TWILL_TEST_JOBS is the number of processes (default: the cores). Exit codes: 0 all is well,
// 1 something failed, 2 nothing matches or the arguments are wrong.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runner/runner.h"
#include "runner/worker.h"

namespace twill::runner {
namespace {

const std::string kSource = TWILL_SOURCE_DIR;

std::vector<Script> scripts() {
  return {{"launcher", {kSource + "/tests/launcher/launcher_test.sh"}},
          {"ci", {kSource + "/tests/launcher/ci_test.sh"}},
          {"build_facts", {kSource + "/tests/launcher/build_facts_test.sh"}},
          {"changed_self_test", {kSource + "/tools/changed.sh", "--self-test"}},
          {"layering", {kSource + "/tools/check_layers.sh"}},
          {"layering_self_test", {kSource + "/tools/check_layers.sh", "--self-test"}},
          {"lint_self_test", {kSource + "/tools/lint.sh", "--self-test"}}};
}

bool is_disabled(const std::string& name) {
  return !GTEST_FLAG_GET(also_run_disabled_tests) && name.find("DISABLED_") != std::string::npos;
}

// The last folders hold the longest tests: they begin first.
std::vector<std::string> all_tests() {
  std::vector<std::string> names;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int s = unit.total_test_suite_count(); s-- > 0;) {
    const testing::TestSuite& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(t)->name();
      if (!is_disabled(name)) names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<Pattern> patterns_of(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return parse_patterns(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

int num_jobs() {
  const std::string given = environment("TWILL_TEST_JOBS");
  return std::max(
      1, given.empty() ? static_cast<int>(std::thread::hardware_concurrency()) : std::stoi(given));
}

struct Arguments {
  bool runs = false;
  bool lists = false;
  int worker = -1;
  std::string except = {};
  std::string regex = {};
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&] { return argument.substr(argument.find('=') + 1); };
    if (argument == "--run")
      arguments.runs = true;
    else if (argument == "--names")
      arguments.lists = true;
    else if (argument.starts_with("--worker="))
      arguments.worker = std::stoi(value());
    else if (argument.starts_with("--except="))
      arguments.except = value();
    else if (arguments.runs)
      arguments.regex = argument;
  }
  return arguments;
}

// Tests that are to be left out. One that is not there was renamed: it would run, and nobody would know.
std::vector<Pattern> exceptions(const std::string& path) {
  const std::vector<Pattern> excepted = patterns_of(path);
  std::vector<std::string> names = all_tests();
  for (const Script& script : scripts()) names.push_back(script.name);
  for (const std::string& dead : dead_patterns(excepted, names))
    throw std::runtime_error(fmt::format("{}: '{}' matches no test", path, dead));
  return excepted;
}

int run(const Arguments& arguments) {
  const std::regex wanted(arguments.regex, std::regex::extended);
  const std::vector<Pattern> excepted = exceptions(arguments.except);
  const auto unwanted = [&](const std::string& name) {
    return !std::regex_search(name, wanted) || matches_any(excepted, name);
  };
  std::vector<std::string> tests = all_tests();
  std::erase_if(tests, unwanted);
  std::vector<Script> chosen = scripts();
  std::erase_if(chosen, [&](const Script& script) { return unwanted(script.name); });
  if (tests.empty() && chosen.empty()) {
    fmt::print(stderr, "twill: no test matches '{}': ./twill test --list names them all\n",
               arguments.regex);
    return 2;
  }
  Options options{.jobs = num_jobs()};
  if (GTEST_FLAG_GET(also_run_disabled_tests))
    options.worker_flags.emplace_back("--gtest_also_run_disabled_tests");
  if (const std::string given = environment("TWILL_TEST_TIMEOUT"); !given.empty())
    options.timeout = std::stod(given);
  const Report told =
      report(run_all(std::move(tests), chosen, options),
             patterns_of(kSource + "/tests/allowed_skips.txt"), environment("CI") == "true");
  fmt::print("{}", told.text);
  return told.is_good ? 0 : 1;
}

int main_of(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const Arguments arguments = parse(argc, argv);
  if (arguments.worker >= 0) return run_worker(arguments.worker);
  if (arguments.lists) {
    for (const std::string& name : all_tests()) fmt::print("{}\n", name);
    for (const Script& script : scripts()) fmt::print("{}\n", script.name);
    return 0;
  }
  return arguments.runs ? run(arguments) : RUN_ALL_TESTS();
}

}  // namespace
}  // namespace twill::runner

int main(int argc, char** argv) {
  try {
    return twill::runner::main_of(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "twill_tests: {}\n", error.what());
    return 2;
  }
}
