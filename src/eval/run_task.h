// SPDX-License-Identifier: Apache-2.0
// A model takes a task.
//
//   acc       share of examples where the right choice has the largest log-likelihood
//   acc_norm  the same with each log-likelihood divided by the bytes of its choice
//   Of equals the first is chosen. Last words: acc is the share of words whose every token is the
//   likeliest, perplexity is exp(-mean log-likelihood of a word).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eval/likelihood.h"
#include "eval/metrics.h"
#include "eval/tasks.h"

namespace twill {

// What became of one example.
struct ExampleResult {
  std::int64_t line = 0;
  std::vector<Likelihood> likelihoods;  // one per choice; one for a last word
  std::int64_t label = 0;
  std::int64_t choice = 0;       // by log-likelihood
  std::int64_t choice_norm = 0;  // by log-likelihood per byte
};

struct TaskResult {
  std::string task;
  std::string file;
  std::vector<Metric> metrics = {};
  std::vector<ExampleResult> examples = {};
};

// At most `limit` examples; 0 takes all. Throws twill::Error for a bad file, or a choice that is
// longer than the model's context.
TaskResult run_task(LikelihoodScorer& scorer, const Tokenizer& tokenizer, const Task& task,
                    const std::string& file, std::int64_t limit, const EvalProgress& progress = {});

}  // namespace twill
