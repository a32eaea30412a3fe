// SPDX-License-Identifier: Apache-2.0
#include "data/window_data.h"

#include <limits>
#include <utility>

namespace twill {
namespace {

// body(row, tokens, targets) for every row of a batch of windows.
template <class Body>
void for_each_row(const Batch& batch, std::int64_t T, const Body& body) {
  auto* tokens = batch.at(kTokens).as<std::int32_t>();
  auto* targets = batch.at(kTargets).as<std::int32_t>();
  for (std::int64_t row = 0; row < batch.rows(); ++row)
    body(row, tokens + row * T, targets + row * T);
}

}  // namespace

BatchLayout window_layout(std::int64_t T) {
  return {{.name = std::string(kTokens), .row = {T}}, {.name = std::string(kTargets), .row = {T}}};
}

TrainingWindows::TrainingWindows(const std::vector<TrainingSource>& sources, std::int64_t T,
                                 std::uint64_t seed)
    : layout_(window_layout(T)), T_(T), stream_(sources, T, seed) {
  for (std::size_t source = 0; source < sources.size(); ++source)
    size_ += stream_.windows_per_epoch(source);
}

void TrainingWindows::fill(std::int64_t position, const Batch& batch) const {
  for_each_row(batch, T_, [&](std::int64_t row, std::int32_t* tokens, std::int32_t* targets) {
    stream_.window(position + row, tokens, targets);
  });
}

EvaluationWindows::EvaluationWindows(TokenSequence tokens, std::int64_t T, std::int64_t max_windows)
    : layout_(window_layout(T)),
      tokens_(std::move(tokens)),
      T_(T),
      begins_(
          eval_windows(tokens_.size(), T,
                       max_windows > 0 ? max_windows : std::numeric_limits<std::int64_t>::max())) {}

void EvaluationWindows::fill(std::int64_t position, const Batch& batch) const {
  for_each_row(batch, T_, [&](std::int64_t row, std::int32_t* tokens, std::int32_t* targets) {
    copy_window(tokens_, begins_[static_cast<std::size_t>(position + row)], T_, tokens, targets);
  });
}

std::vector<std::int32_t> EvaluationWindows::targets() const {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(num_tokens()));
  std::int32_t* next = ids.data();
  for (const std::int64_t begin : begins_) {
    tokens_.copy(begin + 1, T_, next);
    next += T_;
  }
  return ids;
}

}  // namespace twill
