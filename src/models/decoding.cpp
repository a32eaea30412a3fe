// SPDX-License-Identifier: Apache-2.0
#include "models/decoding.h"

#include <algorithm>

#include "base/check.h"

namespace twill {

DecodingState::DecodingState(const Context& context, LanguageModel& model)
    : context_(context), model_(model) {}

ConstView DecodingState::prefill(std::span<const std::int32_t> tokens) {
  TWILL_CHECK(!tokens.empty(), "a prompt has at least one token");
  const auto kept = std::min(tokens.size(), static_cast<std::size_t>(model_.max_time()));
  const std::span<const std::int32_t> newest = tokens.last(kept);
  window_.assign(newest.begin(), newest.end());
  return read(window_, 0);
}

ConstView DecodingState::decode_next(std::int32_t token) {
  TWILL_CHECK(!window_.empty(), "a prompt comes first");
  const auto past = static_cast<std::int64_t>(window_.size());
  window_.push_back(token);
  if (past == model_.max_time()) {
    const std::int64_t kept = std::max<std::int64_t>(1, model_.max_time() / 2);
    window_.erase(window_.begin(), window_.end() - kept);
    return read(window_, 0);
  }
  return model_.has_cache() ? read(std::span(window_).last(1), past) : read(window_, 0);
}

ConstView DecodingState::read(std::span<const std::int32_t> tokens, std::int64_t past) {
  const Pass pass{.context = context_,
                  .time = static_cast<std::int64_t>(tokens.size()),
                  .cached = model_.has_cache(),
                  .past = past};
  return model_.next_token_logits(pass, tokens);
}

}  // namespace twill
