// SPDX-License-Identifier: Apache-2.0
// Loss, perplexity and bits per byte of a model on any text.
//
// Every token of the text is predicted exactly once, the first one behind prefix_token()
// (eval/likelihood.h), which itself is not predicted. With C the model's context, window 0 predicts
// the first C tokens, every further one the next C behind the one token before them; the last
// window, which may have fewer left to predict, reaches back so that C tokens are read. This is
// loglikelihood_rolling of lm-evaluation-harness. Bytes are those of the text, so models with
// different tokenizers can be compared by bits per byte.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "eval/likelihood.h"

namespace twill {

struct TextLoss {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  double loss = 0.0;  // mean over tokens, in nats
  double perplexity = 0.0;
  double bits_per_byte = 0.0;
};

// Throws twill::Error when the text is empty.
TextLoss text_loss(LikelihoodScorer& scorer, const Tokenizer& tokenizer, std::string_view text,
                   const EvalProgress& progress = {});

// The windows over the tokens of a text.
std::vector<LikelihoodRequest> rolling_windows(std::span<const std::int32_t> tokens,
                                               std::int32_t prefix, std::int64_t context);

}  // namespace twill
