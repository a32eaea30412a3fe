// SPDX-License-Identifier: Apache-2.0
// The runner of the suite, on samples that pass, fail, are skipped, crash, hang and end the process.
#include "runner/runner.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "runner/events.h"

namespace twill::runner {
namespace {

// Names a file for the number of a sample's process.
constexpr const char* kProcessFile = "TWILL_RUNNER_SAMPLE";

TEST(RunnerSample, DISABLED_Passes) {}
TEST(RunnerSample, DISABLED_Fails) { EXPECT_EQ(1, 2) << "so it was meant"; }
TEST(RunnerSample, DISABLED_IsSkipped) {
  SCOPED_TRACE("a seed");
  GTEST_SKIP() << "no such thing here";
}
TEST(RunnerSample, DISABLED_Crashes) {
  std::puts("its last words");
  std::raise(SIGKILL);
}
TEST(RunnerSample, DISABLED_EndsTheProcess) { ::_exit(0); }
TEST(RunnerSample, DISABLED_Hangs) {
  if (const char* path = std::getenv(kProcessFile)) std::ofstream(path) << ::getpid() << std::endl;
  std::this_thread::sleep_for(std::chrono::seconds(60));
}
TEST(RunnerSample, DISABLED_LeavesAProgram) {
  EXPECT_EQ(std::system("sleep 60 >/dev/null 2>&1 &"), 0);
}
TEST(RunnerSample, DISABLED_LeavesAFaultForTheEnd) {
  std::atexit([] { ::_exit(23); });
}

Result run_sample(const std::vector<std::string>& names, const std::string& wanted,
                  std::size_t expected) {
  std::vector<std::string> tests;
  for (const std::string& name : names) tests.push_back("RunnerSample.DISABLED_" + name);
  testing::internal::CaptureStdout();
  const std::vector<Result> results = run_all(
      tests, {},
      {.jobs = 2, .timeout = 5.0, .chunk = 8, .worker_flags = {"--gtest_also_run_disabled_tests"}});
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(results.size(), expected);
  for (const Result& result : results)
    if (result.name.find(wanted) != std::string::npos) return result;
  ADD_FAILURE() << "nothing is said of " << wanted;
  return {};
}

TEST(Runner, TellsWhatEachTestDid) {
  const std::vector<std::string> all{"Passes", "Fails", "IsSkipped"};
  EXPECT_EQ(run_sample(all, "Passes", 3).status, Status::kPassed);
  const Result failed = run_sample(all, "Fails", 3);
  EXPECT_EQ(failed.status, Status::kFailed);
  EXPECT_NE(failed.text.find("so it was meant"), std::string::npos);
  const Result skipped = run_sample(all, "IsSkipped", 3);
  EXPECT_EQ(skipped.status, Status::kSkipped);
  EXPECT_EQ(skipped.text, "no such thing here");
}

TEST(Runner, NamesTheTestThatCrashedAndRunsTheOthers) {
  for (const std::string name : {"Crashes", "EndsTheProcess"}) {
    const Result crashed = run_sample({name, "Passes", "Fails"}, name, 3);
    EXPECT_EQ(crashed.status, Status::kFailed);
    if (name != "Crashes") continue;
    EXPECT_NE(crashed.text.find("its last words"), std::string::npos);
    EXPECT_NE(crashed.text.find("signal 9"), std::string::npos);
  }
  EXPECT_EQ(run_sample({"Crashes", "Passes"}, "Passes", 2).status, Status::kPassed);
}

TEST(Runner, StopsATestThatHangs) {
  const Result hung = run_sample({"Hangs", "Passes"}, "Hangs", 2);
  EXPECT_EQ(hung.status, Status::kFailed);
  EXPECT_NE(hung.text.find("was stopped after 5 s"), std::string::npos);
}

TEST(Runner, AFaultAtTheEndOfAProcessIsAFailure) {
  const Result fault = run_sample({"LeavesAFaultForTheEnd"}, "process", 2);
  EXPECT_EQ(fault.status, Status::kFailed);
  EXPECT_NE(fault.text.find("exit code 23"), std::string::npos);
}

TEST(Runner, DoesNotWaitForAProgramThatATestLeft) {
  EXPECT_EQ(run_sample({"LeavesAProgram"}, "LeavesAProgram", 1).status, Status::kPassed);
}

// The number that a sample wrote; 0: nothing within 20 s.
pid_t process_in(const std::string& path) {
  for (int i = 0; i < 400; ++i) {
    pid_t process = 0;
    if (std::ifstream(path) >> process) return process;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return 0;
}

// The status of a process that ended within 20 s; nullopt: it is still there, and killed now.
std::optional<int> end_of(pid_t process) {
  int status = 0;
  for (int i = 0; i < 400; ++i) {
    if (::waitpid(process, &status, WNOHANG) == process) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ::kill(process, SIGKILL);
  ::waitpid(process, &status, 0);
  return std::nullopt;
}

TEST(Runner, TakesItsWorkersAlongWhenItIsKilled) {
  const TempDir dir;
  const std::string told = dir / "process";
  // What the runner leaves behind becomes our child, so that we are told of its end.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t runner = ::fork();
  if (runner == 0) {
    ::setenv(kProcessFile, told.c_str(), /*overwrite=*/1);
    ::execl("/proc/self/exe", "twill_tests", "--gtest_also_run_disabled_tests", "--run",
            "^RunnerSample.DISABLED_Hangs$", nullptr);
    ::_exit(127);
  }
  const pid_t worker = process_in(told);
  ::kill(runner, SIGKILL);
  EXPECT_TRUE(end_of(runner).has_value());
  ASSERT_NE(worker, 0);
  const std::optional<int> ended = end_of(worker);
  ASSERT_TRUE(ended.has_value()) << "the worker went on without its runner";
  EXPECT_EQ(WTERMSIG(*ended), SIGKILL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(Runner, RunsScripts) {
  testing::internal::CaptureStdout();
  const std::vector<Result> results = run_all(
      {}, {{"good", {"/bin/sh", "-c", "true"}}, {"bad", {"/bin/sh", "-c", "echo why; exit 4"}}},
      {});
  EXPECT_NE(testing::internal::GetCapturedStdout().find("why"), std::string::npos);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].status, Status::kPassed);
  EXPECT_EQ(results[1].status, Status::kFailed);
  EXPECT_NE(results[1].text.find("exit code 4"), std::string::npos);
}

// Others go on beside it: the first to end is told first.
TEST(Runner, StopsAScriptThatHangs) {
  testing::internal::CaptureStdout();
  const std::vector<Result> results = run_all(
      {}, {{"hangs", {"/bin/sh", "-c", "sleep 20"}}, {"good", {"/bin/sh", "-c", "sleep 0.2"}}},
      {.jobs = 2, .timeout = 2.0});
  testing::internal::GetCapturedStdout();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].name, "good");
  EXPECT_EQ(results[0].status, Status::kPassed);
  EXPECT_EQ(results[1].status, Status::kFailed);
  EXPECT_NE(results[1].text.find("was stopped after 2 s"), std::string::npos);
}

TEST(RunnerEvents, ComeBackHoweverTheyAreCut) {
  const Result sent{
      .name = "A.b/0", .status = Status::kSkipped, .seconds = 1.5, .text = "two\nlines"};
  const std::string whole = start_event("A.b/0") + end_event(sent) + start_event("C.d");
  std::string read;
  std::vector<Event> events;
  for (const char byte : whole) {
    read += byte;
    while (const std::optional<Event> event = take_event(read)) events.push_back(*event);
  }
  ASSERT_EQ(events.size(), 3u);
  EXPECT_FALSE(events[0].is_end);
  EXPECT_TRUE(events[1].is_end);
  EXPECT_EQ(events[1].result.status, Status::kSkipped);
  EXPECT_EQ(events[1].result.seconds, 1.5);
  EXPECT_EQ(events[1].result.text, "two\nlines");
  EXPECT_EQ(events[2].result.name, "C.d");
}

TEST(RunnerReport, ListsSkipsAndTheSlowestAndCounts) {
  std::vector<Result> results{{.name = "A.failed", .status = Status::kFailed},
                              {.name = "A.gpu", .status = Status::kSkipped, .text = "no GPU"},
                              {.name = "A.odd", .status = Status::kSkipped, .text = "no idea"}};
  for (int i = 0; i < 30; ++i)
    results.push_back({.name = "B.test" + std::to_string(i), .seconds = double(i)});
  const std::vector<Pattern> allowed = parse_patterns("# c\n\n*: no GPU | none here\n", "list");
  const Report lenient = report(results, allowed, false);
  EXPECT_TRUE(lenient.text.ends_with("\n30 passed, 1 failed, 2 skipped\n"));
  EXPECT_NE(lenient.text.find("  no GPU (1)\n    A.gpu\n"), std::string::npos);
  EXPECT_NE(lenient.text.find("    A.odd  (not on the allowed list)"), std::string::npos);
  EXPECT_NE(lenient.text.find("29.00     0.00  B.test29\n"), std::string::npos);
  EXPECT_EQ(lenient.text.find("B.test9\n"), std::string::npos) << "not of the slowest twenty";
  EXPECT_FALSE(lenient.is_good);
  results.erase(results.begin());
  EXPECT_TRUE(report(results, allowed, false).is_good);
  EXPECT_FALSE(report(results, allowed, true).is_good);
  results.erase(results.begin() + 1);
  EXPECT_TRUE(report(results, allowed, true).is_good);
  EXPECT_THROW(parse_patterns("*no why*\n", "list"), std::runtime_error);
}

TEST(RunnerPatterns, AreDeadWhenTheyMatchNothing) {
  const std::vector<Pattern> patterns = parse_patterns("A.* | x\nB.c | y\nD.? | z\n", "list");
  EXPECT_EQ(dead_patterns(patterns, {"A.b", "B.cc", "D.e"}), std::vector<std::string>{"B.c"});
}

}  // namespace
}  // namespace twill::runner
