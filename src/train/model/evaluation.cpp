// SPDX-License-Identifier: Apache-2.0
#include "train/model/evaluation.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace twill {

WindowEvaluator::WindowEvaluator(TokenSequence tokens, std::int64_t time, std::int64_t batch,
                                 std::int64_t max_windows)
    : tokens_(std::move(tokens)),
      time_(time),
      batch_(batch),
      begins_(
          eval_windows(tokens_.size(), time,
                       max_windows > 0 ? max_windows : std::numeric_limits<std::int64_t>::max())),
      inputs_(static_cast<std::size_t>(batch * time)),
      targets_(inputs_.size()) {}

double WindowEvaluator::mean_loss(const Context& context, Decoder& model, bool as_trained) {
  const auto windows = static_cast<std::int64_t>(begins_.size());
  double sum = 0.0;
  for (std::int64_t first = 0; first < windows; first += batch_) {
    const std::int64_t rows = std::min(batch_, windows - first);
    for (std::int64_t row = 0; row < rows; ++row)
      copy_window(tokens_, begins_[static_cast<std::size_t>(first + row)], time_,
                  inputs_.data() + row * time_, targets_.data() + row * time_);
    const auto count = static_cast<std::size_t>(rows * time_);
    const Pass pass{.context = context, .batch = rows, .time = time_, .as_trained = as_trained};
    sum += static_cast<double>(rows) *
           model.loss(pass, std::span(inputs_).first(count), std::span(targets_).first(count));
  }
  return sum / static_cast<double>(windows);
}

std::vector<std::int32_t> WindowEvaluator::targets() const {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(num_tokens()));
  std::int32_t* next = ids.data();
  for (const std::int64_t begin : begins_) {
    tokens_.copy(begin + 1, time_, next);
    next += time_;
  }
  return ids;
}

}  // namespace twill
