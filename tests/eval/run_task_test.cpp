// SPDX-License-Identifier: Apache-2.0
#include "eval/run_task.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "eval/small_model.h"
#include "io/atomic_file.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"

namespace twill {
namespace {

constexpr std::string_view kQuestions =
    R"({"query": "The sky is", "choices": ["blue", "a fish", "square"], "label": 0}
{"query": "Ice is", "choices": ["hot", "cold"], "label": 1}
{"query": "Two and two are", "choices": ["four of them", "five", "x", "y"], "label": 3}
)";

class RunTask : public testing::Test {
 protected:
  TaskResult run(const Task& task, std::string_view content, std::int64_t limit = 0) {
    write_file(path_, content);
    return run_task(small_.scorer, ByteTokenizer(), task, path_, limit);
  }
  // The log-likelihood of a pair, asked for one token at a time.
  double naive(const std::string& context, const std::string& continuation) {
    const auto encoder = ByteTokenizer().make_encoder();
    return small_.one_by_one(make_request(ByteTokenizer(), *encoder, context, continuation))
        .log_likelihood;
  }

  TempDir dir_;
  std::string path_ = dir_ / "task.jsonl";
  SmallModel small_{4};
};

TEST_F(RunTask, ChoosesByLikelihood) {
  const TaskResult got = run(task_named("arc_easy"), kQuestions);
  const std::vector<TaskExample> examples = read_examples(task_named("arc_easy"), path_, 0);
  ASSERT_EQ(got.examples.size(), 3u);
  double right = 0.0, right_norm = 0.0;
  for (std::size_t e = 0; e < 3; ++e) {
    std::vector<double> scores, per_byte;
    for (std::size_t i = 0; i < examples[e].pairs.size(); ++i) {
      scores.push_back(naive(examples[e].pairs[i].first, examples[e].pairs[i].second));
      // The space in front of a choice is scored but does not count as a byte of it.
      per_byte.push_back(scores[i] / static_cast<double>(examples[e].pairs[i].second.size() - 1));
      EXPECT_NEAR(got.examples[e].likelihoods[i].log_likelihood, scores[i],
                  likelihood_tolerance(20));
    }
    const auto best = std::ranges::max_element(scores) - scores.begin();
    const auto best_norm = std::ranges::max_element(per_byte) - per_byte.begin();
    EXPECT_EQ(got.examples[e].choice, best);
    EXPECT_EQ(got.examples[e].choice_norm, best_norm);
    right += best == examples[e].label ? 1.0 : 0.0;
    right_norm += best_norm == examples[e].label ? 1.0 : 0.0;
  }
  EXPECT_EQ(got.metrics[0].name, "acc");
  EXPECT_DOUBLE_EQ(got.metrics[0].value, right / 3.0);
  EXPECT_EQ(got.metrics[1].name, "acc_norm");
  EXPECT_DOUBLE_EQ(got.metrics[1].value, right_norm / 3.0);
}

// One choice repeated: the first of equals wins.
TEST_F(RunTask, TakesTheFirstOfEquals) {
  const TaskResult got =
      run(task_named("hellaswag"), R"({"query": "q", "choices": ["a", "a", "a"], "label": 1})");
  EXPECT_EQ(got.examples[0].choice, 0);
  EXPECT_EQ(got.examples[0].choice_norm, 0);
  EXPECT_EQ(got.metrics[0].value, 0.0);
}

TEST_F(RunTask, ScoresWhatFollowsTheBlank) {
  const TaskResult got = run(task_named("winogrande"),
                             R"({"query": "So _ ran.", "choices": ["Al", "Bo"], "label": 1})");
  ASSERT_EQ(got.metrics.size(), 1u);
  EXPECT_NEAR(got.examples[0].likelihoods[0].log_likelihood, naive("So Al", " ran."),
              likelihood_tolerance(5));
  EXPECT_NEAR(got.examples[0].likelihoods[1].log_likelihood, naive("So Bo", " ran."),
              likelihood_tolerance(5));
  EXPECT_EQ(got.examples[0].likelihoods[1].tokens, 5);
}

TEST_F(RunTask, GuessesLastWords) {
  const TaskResult got =
      run(task_named("lambada"), "{\"text\": \"one two\"}\n{\"text\": \"a b\"}\n");
  const double first = naive("one", " two"), second = naive("a", " b");
  EXPECT_EQ(got.metrics[0].name, "acc");
  EXPECT_EQ(got.metrics[0].value, 0.0);
  EXPECT_EQ(got.metrics[1].name, "perplexity");
  EXPECT_NEAR(got.metrics[1].value, std::exp(-(first + second) / 2.0),
              got.metrics[1].value * likelihood_tolerance(6));
}

TEST_F(RunTask, StopsAtTheLimit) {
  EXPECT_EQ(run(task_named("piqa"), kQuestions, 2).examples.size(), 2u);
}

TEST_F(RunTask, RefusesWhatDoesNotFit) {
  const std::string line =
      R"({"query": "q", "choices": ["a", ")" + std::string(64, 'x') + R"("], "label": 1})";
  expect_error([&] { run(task_named("piqa"), line); },
               path_ + ": line 1: what is asked about has 65 tokens, the model's context allows");
}

// The real files, whole: every line is read, and a few examples are scored.
TEST(RealTasks, AreRead) {
  const char* data = std::getenv("TWILL_DATA");
  const std::string folder =
      std::string(data != nullptr ? data : TWILL_SOURCE_DIR "/../shared/data") + "/eval";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no folder " << folder;
  SmallModel small(8, 512);
  const std::vector<std::size_t> counts{10042, 5153, 1838, 2376, 1172, 1267, 500, 1954};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Task& task = known_tasks()[i];
    const std::string file = require_task_file(task, folder);
    EXPECT_EQ(read_examples(task, file, 0).size(), counts[i]) << task.name;
  }
  const Task& task = task_named("winogrande");
  const TaskResult result =
      run_task(small.scorer, ByteTokenizer(), task, require_task_file(task, folder), /*limit=*/8);
  EXPECT_EQ(result.examples.size(), 8u);
}

}  // namespace
}  // namespace twill
