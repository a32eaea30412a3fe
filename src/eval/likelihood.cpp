// SPDX-License-Identifier: Apache-2.0
#include "eval/likelihood.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/require.h"
#include "eval/white_space.h"

namespace twill {
namespace {

// What the model reads of a request: everything but the last token, the newest max_time of it.
std::int64_t length_of(const LikelihoodRequest& request, std::int64_t max_time) {
  return std::min(static_cast<std::int64_t>(request.tokens.size()) - 1, max_time);
}

// One row of a batch: tokens, and targets where they are scored.
void fill_row(const LikelihoodRequest& request, std::int64_t length, std::int32_t* tokens,
              std::int32_t* targets) {
  const std::int32_t* newest = request.tokens.data() + request.tokens.size() - 1 - length;
  std::copy_n(newest, length, tokens);
  const std::int64_t first = length - request.scored;
  std::copy_n(newest + 1 + first, request.scored, targets + first);
}

Likelihood sum_of(std::span<const TargetScore> scores) {
  Likelihood result{.tokens = static_cast<std::int64_t>(scores.size())};
  for (const TargetScore& score : scores) {
    result.log_likelihood -= score.loss;
    result.greedy = result.greedy && score.greedy;
  }
  require(std::isfinite(result.log_likelihood),
          "the model's loss is not a finite number: it has diverged, or its weights are damaged");
  return result;
}

}  // namespace

std::int32_t prefix_token(const Tokenizer& tokenizer) {
  if (const auto begin = tokenizer.begin_of_text()) return *begin;
  if (const auto end = tokenizer.end_of_text()) return *end;
  const std::vector<std::int32_t> line_end = tokenizer.encode("\n");
  require(!line_end.empty(),
          "the tokenizer ({}) has no begin or end of text and no token for a line end: nothing can "
          "stand in front of a text",
          tokenizer.name());
  return line_end.back();
}

LikelihoodRequest make_request(const Tokenizer& tokenizer, TokenEncoder& encoder,
                               std::string_view context, std::string_view continuation) {
  const std::string whole = std::string(context) + std::string(continuation);
  const std::string_view kept = without_trailing_space(context);
  LikelihoodRequest request;
  std::vector<std::int32_t> context_ids;
  encoder.encode(whole, request.tokens);
  encoder.encode(kept, context_ids);
  const std::size_t front = std::min(context_ids.size(), request.tokens.size());
  request.scored = static_cast<std::int64_t>(request.tokens.size() - front);
  // Characters that the tokenizer drops are no context either.
  if (front == 0 || tokenizer.begin_of_text())
    request.tokens.insert(request.tokens.begin(), prefix_token(tokenizer));
  return request;
}

LikelihoodScorer::LikelihoodScorer(const Context& context, LanguageModel& model,
                                   std::int64_t max_batch)
    : context_(context), model_(model), max_batch_(max_batch) {}

std::vector<Likelihood> LikelihoodScorer::run(std::span<const LikelihoodRequest> requests,
                                              const EvalProgress& progress) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The longest first: what does not fit into memory fails at once, and the last passes are short.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return requests[a].tokens.size() > requests[b].tokens.size();
  });
  std::int64_t total = 0, done = 0;
  for (const LikelihoodRequest& request : requests) total += length_of(request, max_tokens());
  std::vector<Likelihood> results(requests.size());
  const auto batch = static_cast<std::size_t>(max_batch_);
  for (std::size_t first = 0; first < order.size(); first += batch) {
    const auto members = std::span(order).subspan(first, std::min(batch, order.size() - first));
    run_batch(requests, members, results);
    for (const std::size_t member : members) done += length_of(requests[member], max_tokens());
    if (progress) progress(static_cast<double>(done) / static_cast<double>(total));
  }
  return results;
}

void LikelihoodScorer::run_batch(std::span<const LikelihoodRequest> requests,
                                 std::span<const std::size_t> members,
                                 std::vector<Likelihood>& results) {
  const auto rows = static_cast<std::int64_t>(members.size());
  const std::int64_t time = length_of(requests[members.front()], max_tokens());
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows * time), 0);
  std::vector<std::int32_t> targets(tokens.size(), -1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const LikelihoodRequest& request = requests[members[static_cast<std::size_t>(row)]];
    const std::int64_t length = length_of(request, max_tokens());
    TWILL_CHECK(request.scored >= 0 && request.scored <= length && length <= time,
                "a request has a context, and a continuation that fits the model");
    fill_row(request, length, tokens.data() + row * time, targets.data() + row * time);
  }
  const Pass pass{.context = context_, .batch = rows, .time = time};
  const std::vector<TargetScore> scores = model_.score(pass, token_batch(rows, tokens, targets));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::size_t member = members[static_cast<std::size_t>(row)];
    const std::int64_t scored = requests[member].scored;
    const std::int64_t end = row * time + length_of(requests[member], max_tokens());
    results[member] = sum_of(std::span(scores).subspan(static_cast<std::size_t>(end - scored),
                                                       static_cast<std::size_t>(scored)));
  }
}

}  // namespace twill
