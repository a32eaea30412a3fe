// SPDX-License-Identifier: Apache-2.0
// How likely a model finds a continuation behind a context: what every evaluation is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "models/model.h"

namespace twill {

// A sequence whose last `scored` tokens are the continuation, the others its context.
struct LikelihoodRequest {
  std::vector<std::int32_t> tokens;
  std::int64_t scored = 0;
};

struct Likelihood {
  double log_likelihood = 0.0;  // of the whole continuation, in nats
  bool greedy = true;           // every token of it is the likeliest at its place
  std::int64_t tokens = 0;      // of the continuation
};

// What stands in front of a text that has nothing in front of it: the tokenizer's begin of text,
// else its end of text, else a line end.
std::int32_t prefix_token(const Tokenizer& tokenizer);

// Context and continuation as lm-evaluation-harness divides them:
// 1. White space at the end of the context moves to the front of the continuation, because most
//    tokenizers keep a space with the word behind it.
// 2. The continuation's tokens are encode(context + continuation) without the first
//    |encode(context)| ones.
// 3. An empty context becomes prefix_token(). A begin of text, where the tokenizer has one, stands
//    in front of everything.
// `encoder` belongs to `tokenizer`. White space is what Python's str.isspace() says.
LikelihoodRequest make_request(const Tokenizer& tokenizer, TokenEncoder& encoder,
                               std::string_view context, std::string_view continuation);

// Called with the share of the work that is done, 0 to 1.
using EvalProgress = std::function<void(double)>;

// Asks a model about many requests, several at once.
class LikelihoodScorer {
 public:
  // `max_batch` sequences of model.max_time() tokens are what the model has memory for.
  LikelihoodScorer(const Context& context, LanguageModel& model, std::int64_t max_batch);

  // The longest continuation that can be scored.
  std::int64_t max_tokens() const { return model_.max_time(); }

  // In the order of the requests. A sequence that is too long loses its beginning; at least one
  // token of context and at most max_tokens() scored ones are the caller's duty. Requests go
  // through the model sorted by length, padded at the right, where a causal model does not look;
  // the company of a sequence changes its result by rounding at most. Throws twill::Error when a
  // likelihood is no number.
  std::vector<Likelihood> run(std::span<const LikelihoodRequest> requests,
                              const EvalProgress& progress = {});

 private:
  void run_batch(std::span<const LikelihoodRequest> requests, std::span<const std::size_t> members,
                 std::vector<Likelihood>& results);

  const Context& context_;
  LanguageModel& model_;
  std::int64_t max_batch_;
};

}  // namespace twill
