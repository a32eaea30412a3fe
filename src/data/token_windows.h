// SPDX-License-Identifier: Apache-2.0
// The training stream. Tokens are cut into windows of T inputs and the T targets that follow them.
// An epoch shows every window once, in an order that is a stateless pseudo-random permutation, and
// each epoch but the first starts at another offset, so that the cuts differ. All of it is a
// function of (seed, position): a resumed run needs to remember one integer.
#pragma once

#include <cstdint>
#include <vector>

#include "data/token_sequence.h"

namespace twill {

// Where `index` goes in permutation number `epoch` of [0, n): a Feistel network over philox, walked
// until it lands inside. A bijection for every (seed, epoch, n).
std::int64_t permuted_index(std::uint64_t seed, std::uint32_t epoch, std::int64_t n,
                            std::int64_t index);

// inputs[t] = tokens[begin + t], targets[t] = tokens[begin + t + 1], for t in [0, T).
void copy_window(const TokenSequence& tokens, std::int64_t begin, std::int64_t T,
                 std::int32_t* inputs, std::int32_t* targets);

// Shares the tokens: at least T + 1 of them.
class WindowStream {
 public:
  WindowStream(TokenSequence tokens, std::int64_t T, std::uint64_t seed);

  std::int64_t windows_per_epoch() const { return windows_; }

  // The window number `position` of the run, counted from 0 over all epochs.
  void window(std::int64_t position, std::int32_t* inputs, std::int32_t* targets) const;
  // Its first token.
  std::int64_t window_begin(std::int64_t position) const;

 private:
  std::int64_t epoch_offset(std::uint32_t epoch) const;

  TokenSequence tokens_;
  std::int64_t T_;
  std::uint64_t seed_;
  std::int64_t windows_;
};

// The first tokens of at most `max_windows` windows, disjoint and spread evenly over
// `num_tokens` tokens.
std::vector<std::int64_t> eval_windows(std::int64_t num_tokens, std::int64_t T,
                                       std::int64_t max_windows);

}  // namespace twill
