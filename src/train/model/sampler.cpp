// SPDX-License-Identifier: Apache-2.0
#include "train/model/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/require.h"
#include "base/rng.h"
#include "data/parallel_encode.h"
#include "models/decoding.h"
#include "ops/transfer.h"

namespace twill {
namespace {

using Ids = std::vector<std::int32_t>;

// The largest logit and its lowest id.
std::int32_t checked_largest(std::span<const float> logits) {
  for (std::size_t id = 0; id < logits.size(); ++id)
    require(!std::isnan(logits[id]) && logits[id] < std::numeric_limits<float>::infinity(),
            "the model's logit of token {} is {}: it has diverged, or its weights are damaged", id,
            logits[id]);
  const auto largest = std::max_element(logits.begin(), logits.end());
  require(largest != logits.end() && std::isfinite(*largest),
          "the model gives no token a chance: every logit is -inf, or the vocabulary is empty");
  return static_cast<std::int32_t>(largest - logits.begin());
}

// The `count` likeliest ids, the likeliest first, of equals the lowest id.
Ids ranked(std::span<const float> logits, std::size_t count) {
  Ids ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    before);
  ids.resize(count);
  return ids;
}

// Cuts the ranked ids behind the first that make `p` of the whole.
template <class Weight>
void keep_nucleus(Ids& ids, double p, const Weight& weight) {
  double total = 0.0;
  for (const std::int32_t id : ids) total += weight(id);
  double sum = 0.0;
  std::size_t kept = 0;
  do sum += weight(ids[kept++]);
  while (kept < ids.size() && sum < p * total);
  ids.resize(kept);
}

// The ids that may be drawn, in ascending order.
template <class Weight>
Ids candidates(std::span<const float> logits, const SampleOptions& options, const Weight& weight) {
  const std::size_t vocab = logits.size();
  const bool all = options.top_k <= 0 || static_cast<std::uint64_t>(options.top_k) >= vocab;
  if (all && options.top_p >= 1.0) {
    Ids ids(vocab);
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
  }
  Ids ids = ranked(logits, all ? vocab : static_cast<std::size_t>(options.top_k));
  if (options.top_p < 1.0) keep_nucleus(ids, options.top_p, weight);
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

std::int32_t draw_token(std::span<const float> logits, const SampleOptions& options,
                        double uniform) {
  const std::int32_t likeliest = checked_largest(logits);
  if (options.temperature <= 0.0) return likeliest;
  const double largest = logits[static_cast<std::size_t>(likeliest)];
  const auto weight = [&](std::int32_t id) {
    return std::exp((static_cast<double>(logits[static_cast<std::size_t>(id)]) - largest) /
                    options.temperature);
  };
  const Ids ids = candidates(logits, options, weight);
  double total = 0.0;
  for (const std::int32_t id : ids) total += weight(id);
  double left = uniform * total;
  for (const std::int32_t id : ids) {
    left -= weight(id);
    if (left < 0.0) return id;
  }
  return likeliest;
}

std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, std::string_view prompt) {
  std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  if (const auto begin = tokenizer.begin_of_text()) ids.insert(ids.begin(), *begin);
  if (ids.empty() && tokenizer.end_of_text()) ids.push_back(*tokenizer.end_of_text());
  return ids.empty() ? tokenizer.encode("\n") : ids;
}

void sample(const Context& context, LanguageModel& model, const Tokenizer& tokenizer,
            std::string_view prompt, const SampleOptions& options,
            const std::function<bool(std::string_view)>& emit) {
  const std::int64_t vocab = std::min(tokenizer.vocab_size(), model.vocab());
  const Ids prompt_tokens = prompt_ids(tokenizer, prompt);
  DecodingState state(context, model);
  StreamDecoder text(tokenizer, prompt_tokens);
  ConstView logits;
  std::int32_t id = 0;
  for (std::int64_t index = 0; index < options.tokens; ++index) {
    logits = index == 0 ? state.prefill(prompt_tokens) : state.decode_next(id);
    const Philox4 bits =
        random_bits(options.seed, Purpose::kSample, 0, static_cast<std::uint64_t>(index));
    const std::vector<float> values = host_floats(context, logits.slice(0, vocab));
    id = draw_token(values, options, static_cast<double>(unit_float(bits[0])));
    if (id == tokenizer.end_of_text()) break;
    if (!emit(text.push(id))) return;
  }
  const std::string rest = text.flush();
  if (!rest.empty()) emit(rest);
}

}  // namespace twill
