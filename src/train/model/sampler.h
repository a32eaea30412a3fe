// SPDX-License-Identifier: Apache-2.0
// Writes on where a text stops: one token after the other, each drawn from the model's
// distribution.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "models/model.h"

namespace twill {

struct SampleOptions {
  std::int64_t tokens = 200;
  double temperature = 0.8;  // 0 takes the likeliest token
  std::int64_t top_k = 0;    // 0: all
  double top_p = 1.0;
  std::uint64_t seed = 1;
};

// Calls `emit` with each piece of new text as it comes, until it returns false, the tokenizer's end
// of text is drawn (it is not emitted), or `tokens` are written. Token i is drawn from (seed,
// kSample, 0, i), so the same model, prompt and options give the same text.
//
// The prompt begins with the tokenizer's begin of text where it has one (LLaMA). An empty prompt
// starts from that alone, else from the end of text (GPT-2: between documents), else from a line
// end. The model remembers what it read (models/decoding.h says what happens when it is full). Only
// the tokenizer's own ids are drawn: padding entries of the vocabulary are no text.
void sample(const Context& context, LanguageModel& model, const Tokenizer& tokenizer,
            std::string_view prompt, const SampleOptions& options,
            const std::function<bool(std::string_view)>& emit);

// The ids that the model reads for a prompt.
std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, std::string_view prompt);

// One token from logits, by a uniform number in [0, 1):
// 1. At temperature 0 the largest logit, the lowest id of equals; top_k and top_p change nothing.
// 2. Otherwise tokens are ranked by logit, equals by id, the lowest first. top_k keeps the first k
//    (exactly k; 0, or more than there are, keeps all).
// 3. Of these, with probabilities softmax(logits / temperature) over what top_k kept, top_p keeps
//    the shortest beginning whose sum reaches p, at least one token; 1 keeps all. (First k, then p,
//    as in transformers; it keeps all that equal the k-th, we do not.)
// 4. What is kept is drawn in proportion to exp(logit / temperature), walking through ids in
//    ascending order.
// A logit of -Inf is never drawn. Throws twill::Error when a logit is NaN or +Inf, or all are -Inf.
std::int32_t draw_token(std::span<const float> logits, const SampleOptions& options,
                        double uniform);

}  // namespace twill
