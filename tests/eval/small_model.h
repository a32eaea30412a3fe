// SPDX-License-Identifier: Apache-2.0
// A model of bytes with random weights, and the slow way to ask it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "eval/likelihood.h"
#include "models/decoder.h"
#include "models/initialise.h"
#include "models/tiny_models.h"
#include "support/marked_bytes.h"

namespace twill {

struct SmallModel {
  explicit SmallModel(std::int64_t max_batch, std::int64_t time = 64)
      : context(cpu_table(), 1),
        builder(context, {.training = false, .max_batch = max_batch, .max_time = time}),
        model(builder, config(time)),
        scorer(context, model, max_batch) {
    builder.commit();
    initialise(builder.parameters(), 3);
  }

  static ModelConfig config(std::int64_t time) {
    ModelConfig config = tiny_llama();
    config.vocab = 256;
    config.context = time;
    return resolved(config, 256);
  }

  // The log-likelihood of the last `scored` tokens, asked for one token at a time: no batch, no
  // padding, and a softmax of its own.
  Likelihood one_by_one(const LikelihoodRequest& request) {
    Likelihood result;
    const std::size_t count = request.tokens.size();
    for (std::size_t i = count - static_cast<std::size_t>(request.scored); i < count; ++i) {
      // The whole request's window: what it loses at its beginning stays lost for every token.
      const std::size_t begin = count - 1 - std::min<std::size_t>(count - 1, max_time());
      const auto window = std::span(request.tokens).subspan(begin, i - begin);
      const Pass pass{.context = context, .time = static_cast<std::int64_t>(window.size())};
      const float* logits = model.next_token_logits(pass, window).as<float>();
      double sum = 0.0;
      for (int id = 0; id < 256; ++id) sum += std::exp(static_cast<double>(logits[id]));
      const auto target = static_cast<std::size_t>(request.tokens[i]);
      result.log_likelihood += static_cast<double>(logits[target]) - std::log(sum);
      result.greedy = result.greedy && std::max_element(logits, logits + 256) == logits + target;
      ++result.tokens;
    }
    return result;
  }

  std::size_t max_time() const { return static_cast<std::size_t>(model.max_time()); }

  Context context;
  Builder builder;
  Decoder model;
  LikelihoodScorer scorer;
};

// Two ways to the same log-likelihood differ by the roundings of logits: sums of some 16 terms in
// two layers, of logits below 8. 256 roundings of 8 per token is what no error of substance hides in.
inline double likelihood_tolerance(std::int64_t tokens) {
  return 256.0 * 8.0 * 0x1p-24 * static_cast<double>(tokens);
}

}  // namespace twill
