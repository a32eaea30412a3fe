// SPDX-License-Identifier: Apache-2.0
// The loss of a model over windows of a text.
#pragma once

#include <cstdint>
#include <vector>

#include "data/token_windows.h"
#include "models/decoder.h"

namespace twill {

// Windows of `time` tokens, `batch` of them at once.
class WindowEvaluator {
 public:
  // At most `max_windows` windows, evenly spread; 0 takes all. Shares the tokens.
  WindowEvaluator(TokenSequence tokens, std::int64_t time, std::int64_t batch,
                  std::int64_t max_windows);

  std::int64_t num_tokens() const { return static_cast<std::int64_t>(begins_.size()) * time_; }

  // Mean loss per token in nats, windows in order. `as_trained`: see Pass.
  double mean_loss(const Context& context, Decoder& model, bool as_trained = false);

  // The target ids of all windows, in the same order.
  std::vector<std::int32_t> targets() const;

 private:
  TokenSequence tokens_;
  std::int64_t time_;
  std::int64_t batch_;
  std::vector<std::int64_t> begins_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> targets_;
};

}  // namespace twill
