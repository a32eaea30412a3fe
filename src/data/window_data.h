// SPDX-License-Identifier: Apache-2.0
// Windows of tokens as examples: the tokens, and behind each of them the next one as its target.
#pragma once

#include <cstdint>
#include <vector>

#include "data/data.h"
#include "data/mixed_windows.h"
#include "data/token_windows.h"

namespace twill {

// kTokens and kTargets, T each.
BatchLayout window_layout(std::int64_t T);

// The training stream of one or several sources.
class TrainingWindows final : public Data {
 public:
  TrainingWindows(const std::vector<TrainingSource>& sources, std::int64_t T, std::uint64_t seed);

  const BatchLayout& layout() const override { return layout_; }
  // Of all sources together, each counted once.
  std::int64_t size() const override { return size_; }
  void fill(std::int64_t position, const Batch& batch) const override;

  const MixedWindows& stream() const { return stream_; }

 private:
  BatchLayout layout_;
  std::int64_t T_;
  MixedWindows stream_;
  std::int64_t size_ = 0;
};

// Windows for an evaluation, in the order of the text.
class EvaluationWindows final : public Data {
 public:
  // At most `max_windows` windows, evenly spread; 0 takes all. Shares the tokens.
  EvaluationWindows(TokenSequence tokens, std::int64_t T, std::int64_t max_windows);

  const BatchLayout& layout() const override { return layout_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(begins_.size()); }
  void fill(std::int64_t position, const Batch& batch) const override;

  std::int64_t num_tokens() const { return size() * T_; }
  // The target ids of all windows, in order.
  std::vector<std::int32_t> targets() const;

 private:
  BatchLayout layout_;
  TokenSequence tokens_;
  std::int64_t T_;
  std::vector<std::int64_t> begins_;
};

}  // namespace twill
