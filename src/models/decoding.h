// SPDX-License-Identifier: Apache-2.0
// Writing token by token: what the model has read so far, and the logits of what comes next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/model.h"

namespace twill {

// One sequence. With a cache (Builder option `decoding`) a new token costs one pass over one token;
// without one the whole window is read again, with the same result but for rounding.
//
// A model sees at most max_time tokens. When a token comes and the window is full, the newest
// max_time / 2 tokens (at least one, the new one among them) stay and are read again from position
// 0, and the window fills up anew. So every max_time / 2 tokens cost one pass over as many, and the
// result depends on the tokens alone. The model must not be used for anything else in between.
class DecodingState {
 public:
  DecodingState(const Context& context, LanguageModel& model);

  // Forgets everything and reads a prompt of at least one token; of a longer one than max_time, the
  // newest max_time tokens. Returns the logits (vocab) of the next token, valid until the next call.
  ConstView prefill(std::span<const std::int32_t> tokens);

  // Reads one more token; behind a prefill.
  ConstView decode_next(std::int32_t token);

  // What the model sees now.
  std::span<const std::int32_t> window() const { return window_; }

 private:
  ConstView read(std::span<const std::int32_t> tokens, std::int64_t past);

  const Context& context_;
  LanguageModel& model_;
  std::vector<std::int32_t> window_;
};

}  // namespace twill
