// SPDX-License-Identifier: Apache-2.0
#include "train/sampler.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/rng.h"

namespace twill {
namespace {

// The window the model can see: the last tokens.
std::span<const std::int32_t> visible(const std::vector<std::int32_t>& ids, std::int64_t time) {
  const std::size_t count = std::min(ids.size(), static_cast<std::size_t>(time));
  return std::span(ids).last(count);
}

}  // namespace

std::int32_t draw_token(const float* logits, std::int64_t vocab, double temperature,
                        double uniform) {
  const float* const largest = std::max_element(logits, logits + vocab);
  if (temperature <= 0.0) return static_cast<std::int32_t>(largest - logits);
  const auto weight = [&](std::int64_t id) {
    return std::exp((static_cast<double>(logits[id]) - static_cast<double>(*largest)) /
                    temperature);
  };
  double total = 0.0;
  for (std::int64_t id = 0; id < vocab; ++id) total += weight(id);
  double left = uniform * total;
  for (std::int64_t id = 0; id < vocab; ++id) {
    left -= weight(id);
    if (left < 0.0) return static_cast<std::int32_t>(id);
  }
  return static_cast<std::int32_t>(largest - logits);
}

void sample(const Context& context, Decoder& model, const Tokenizer& tokenizer,
            std::string_view prompt, const SampleOptions& options,
            const std::function<bool(std::string_view)>& emit) {
  std::vector<std::int32_t> ids = tokenizer.encode(prompt.empty() ? "\n" : prompt);
  // Padding entries of the vocabulary are no text: only the tokenizer's own ids are drawn.
  const std::int64_t vocab = std::min(tokenizer.vocab_size(), model.config().vocab);
  for (std::int64_t index = 0; index < options.tokens; ++index) {
    const std::span<const std::int32_t> window = visible(ids, model.max_time());
    const Pass pass{.context = context, .time = static_cast<std::int64_t>(window.size())};
    const ConstView logits = model.next_token_logits(pass, window);
    const Philox4 bits =
        random_bits(options.seed, Purpose::kSample, 0, static_cast<std::uint64_t>(index));
    const std::int32_t id = draw_token(logits.as<float>(), vocab, options.temperature,
                                       static_cast<double>(unit_float(bits[0])));
    ids.push_back(id);
    if (!emit(tokenizer.decode(std::span(&id, 1)))) return;
  }
}

}  // namespace twill
