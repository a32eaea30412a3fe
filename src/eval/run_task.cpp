// SPDX-License-Identifier: Apache-2.0
#include "eval/run_task.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/require.h"

namespace twill {
namespace {

// All pairs of all examples, one behind the other.
std::vector<LikelihoodRequest> requests_of(std::span<const TaskExample> examples,
                                           const Tokenizer& tokenizer, const std::string& file,
                                           std::int64_t max_tokens) {
  const std::unique_ptr<TokenEncoder> encoder = tokenizer.make_encoder();
  std::vector<LikelihoodRequest> requests;
  for (const TaskExample& example : examples) {
    for (const auto& [context, continuation] : example.pairs) {
      requests.push_back(make_request(tokenizer, *encoder, context, continuation));
      const std::int64_t scored = requests.back().scored;
      require(scored > 0 && scored <= max_tokens,
              "{}: line {}: what is asked about has {} tokens, the model's context allows 1 to {}",
              file, example.line, scored, max_tokens);
    }
  }
  return requests;
}

// The first of the largest of score(i).
template <class Score>
std::int64_t best_of(std::size_t count, const Score& score) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i)
    if (score(i) > score(best)) best = i;
  return static_cast<std::int64_t>(best);
}

ExampleResult judged(const TaskExample& example, std::span<const Likelihood> likelihoods) {
  ExampleResult result{.line = example.line,
                       .likelihoods = {likelihoods.begin(), likelihoods.end()},
                       .label = example.label};
  const auto score = [&](std::size_t i) { return likelihoods[i].log_likelihood; };
  result.choice = best_of(likelihoods.size(), score);
  if (example.bytes.empty()) return result;
  result.choice_norm = best_of(likelihoods.size(), [&](std::size_t i) {
    return score(i) / static_cast<double>(example.bytes[i]);
  });
  return result;
}

template <class Value>
std::vector<double> values_of(const std::vector<ExampleResult>& examples, const Value& value) {
  std::vector<double> values;
  values.reserve(examples.size());
  for (const ExampleResult& example : examples)
    values.push_back(static_cast<double>(value(example)));
  return values;
}

std::vector<Metric> metrics_of(const Task& task, const std::vector<ExampleResult>& examples) {
  using Result = const ExampleResult&;
  const auto right = [](Result r) { return r.choice == r.label; };
  const auto right_norm = [](Result r) { return r.choice_norm == r.label; };
  const auto greedy = [](Result r) { return r.likelihoods[0].greedy; };
  const auto likelihood = [](Result r) { return r.likelihoods[0].log_likelihood; };
  if (task.kind == TaskKind::kLastWord)
    return {mean_metric("acc", values_of(examples, greedy)),
            perplexity_metric("perplexity", values_of(examples, likelihood))};
  std::vector<Metric> metrics{mean_metric("acc", values_of(examples, right))};
  if (task.normalised) metrics.push_back(mean_metric("acc_norm", values_of(examples, right_norm)));
  return metrics;
}

}  // namespace

TaskResult run_task(LikelihoodScorer& scorer, const Tokenizer& tokenizer, const Task& task,
                    const std::string& file, std::int64_t limit, const EvalProgress& progress) {
  const std::vector<TaskExample> examples = read_examples(task, file, limit);
  const auto requests = requests_of(examples, tokenizer, file, scorer.max_tokens());
  const std::vector<Likelihood> likelihoods = scorer.run(requests, progress);
  TaskResult result{.task = task.name, .file = file};
  std::size_t first = 0;
  for (const TaskExample& example : examples) {
    const std::size_t count = example.pairs.size();
    result.examples.push_back(judged(example, std::span(likelihoods).subspan(first, count)));
    first += count;
  }
  result.metrics = metrics_of(task, result.examples);
  return result;
}

}  // namespace twill
