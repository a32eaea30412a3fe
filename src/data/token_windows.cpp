// SPDX-License-Identifier: Apache-2.0
#include "data/token_windows.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/require.h"
#include "base/rng.h"

namespace twill {
namespace {

// Four rounds make a Feistel network pseudo-random (Luby and Rackoff); two more for small domains.
constexpr std::uint64_t kRounds = 6;

// Round 0 of the element numbering is free for the offset of an epoch.
std::uint64_t shuffle_bits(std::uint64_t seed, std::uint32_t epoch, std::uint64_t round,
                           std::uint64_t value) {
  const Philox4 bits = random_bits(seed, Purpose::kShuffle, epoch, round << 56 | value);
  return std::uint64_t{bits[1]} << 32 | bits[0];
}

// A bijection of [0, 4^half_bits).
std::uint64_t feistel(std::uint64_t seed, std::uint32_t epoch, int half_bits, std::uint64_t value) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::uint64_t mixed = left ^ (shuffle_bits(seed, epoch, round, right) & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

}  // namespace

std::int64_t permuted_index(std::uint64_t seed, std::uint32_t epoch, std::int64_t n,
                            std::int64_t index) {
  TWILL_CHECK(index >= 0 && index < n, "index of a permutation out of range");
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
  const int half_bits = (bits + 1) / 2;
  // The orbit of the index under the bijection comes back inside: the walk ends. The domain is less
  // than 4 n, so it takes four steps on average at most.
  auto value = static_cast<std::uint64_t>(index);
  do {
    value = feistel(seed, epoch, half_bits, value);
  } while (value >= static_cast<std::uint64_t>(n));
  return static_cast<std::int64_t>(value);
}

void copy_window(const TokenSequence& tokens, std::int64_t begin, std::int64_t T,
                 std::int32_t* inputs, std::int32_t* targets) {
  TWILL_CHECK(T >= 1, "a window has at least one token");
  tokens.copy(begin, T, inputs);
  // All but the last target are inputs already: a mapped file is read once.
  std::copy(inputs + 1, inputs + T, targets);
  targets[T - 1] = tokens[begin + T];
}

WindowStream::WindowStream(TokenSequence tokens, std::int64_t T, std::uint64_t seed)
    : tokens_(std::move(tokens)), T_(T), seed_(seed) {
  TWILL_CHECK(T >= 1, "a window has at least one token");
  require(tokens_.size() > T, "{} tokens are too few for one window of {} and its last target",
          tokens_.size(), T);
  // One window's worth is left over for the offset, so that all epochs have the same length.
  windows_ = std::max<std::int64_t>(1, (tokens_.size() - T) / T);
}

std::int64_t WindowStream::epoch_offset(std::uint32_t epoch) const {
  if (epoch == 0) return 0;
  const std::int64_t offsets = std::min(T_, tokens_.size() - windows_ * T_);
  return static_cast<std::int64_t>(shuffle_bits(seed_, epoch, 0, 0) %
                                   static_cast<std::uint64_t>(offsets));
}

std::int64_t WindowStream::window_begin(std::int64_t position) const {
  TWILL_CHECK(position >= 0, "a position is not negative");
  const auto epoch = static_cast<std::uint32_t>(position / windows_);
  const std::int64_t index = permuted_index(seed_, epoch, windows_, position % windows_);
  return epoch_offset(epoch) + index * T_;
}

void WindowStream::window(std::int64_t position, std::int32_t* inputs,
                          std::int32_t* targets) const {
  copy_window(tokens_, window_begin(position), T_, inputs, targets);
}

std::vector<std::int64_t> eval_windows(std::int64_t num_tokens, std::int64_t T,
                                       std::int64_t max_windows) {
  TWILL_CHECK(T >= 1, "a window has at least one token");
  const std::int64_t all = std::max<std::int64_t>(0, (num_tokens - 1) / T);
  const std::int64_t count = std::min(all, max_windows);
  std::vector<std::int64_t> begins;
  for (std::int64_t i = 0; i < count; ++i) begins.push_back(i * all / count * T);
  return begins;
}

}  // namespace twill
