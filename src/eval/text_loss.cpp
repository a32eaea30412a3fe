// SPDX-License-Identifier: Apache-2.0
#include "eval/text_loss.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/require.h"

namespace twill {

std::vector<LikelihoodRequest> rolling_windows(std::span<const std::int32_t> tokens,
                                               std::int32_t prefix, std::int64_t context) {
  std::vector<LikelihoodRequest> windows;
  const auto count = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t predicted = 0; predicted < count;) {
    const std::int64_t scored = std::min(count - predicted, context), end = predicted + scored;
    // The window reads `context` tokens and predicts their successors.
    const std::int64_t begin = std::max<std::int64_t>(end - context - 1, 0);
    LikelihoodRequest window{.tokens = {tokens.begin() + begin, tokens.begin() + end},
                             .scored = scored};
    if (predicted == 0) window.tokens.insert(window.tokens.begin(), prefix);
    windows.push_back(std::move(window));
    predicted = end;
  }
  return windows;
}

TextLoss text_loss(LikelihoodScorer& scorer, const Tokenizer& tokenizer, std::string_view text,
                   const EvalProgress& progress) {
  const std::vector<std::int32_t> tokens = tokenizer.encode(text);
  require(!tokens.empty(), "the text is empty: there is nothing to predict");
  const auto windows = rolling_windows(tokens, prefix_token(tokenizer), scorer.max_tokens());
  double nats = 0.0;
  for (const Likelihood& window : scorer.run(windows, progress)) nats -= window.log_likelihood;
  const auto count = static_cast<double>(tokens.size()), bytes = static_cast<double>(text.size());
  return {.tokens = static_cast<std::int64_t>(tokens.size()),
          .bytes = static_cast<std::int64_t>(text.size()),
          .loss = nats / count,
          .perplexity = std::exp(nats / count),
          .bits_per_byte = nats / bytes / std::numbers::ln2};
}

}  // namespace twill
