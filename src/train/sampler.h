// SPDX-License-Identifier: Apache-2.0
// Writes on where a text stops: one token after the other, each drawn from the model's
// distribution.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data/tokenizer.h"
#include "models/decoder.h"

namespace twill {

struct SampleOptions {
  std::int64_t tokens = 200;
  double temperature = 0.8;  // 0 takes the likeliest token
  std::uint64_t seed = 1;
};

// Calls `emit` with each piece of new text as it comes, until it returns false. Token i is drawn
// from (seed, kSample, 0, i), so the same model, prompt and options give the same text. An empty
// prompt starts from a line end.
void sample(const Context& context, Decoder& model, const Tokenizer& tokenizer,
            std::string_view prompt, const SampleOptions& options,
            const std::function<bool(std::string_view)>& emit);

// The token drawn from softmax(logits / temperature) by a uniform number in [0, 1); among equal
// candidates at temperature 0 the lowest id.
std::int32_t draw_token(const float* logits, std::int64_t vocab, double temperature,
                        double uniform);

}  // namespace twill
