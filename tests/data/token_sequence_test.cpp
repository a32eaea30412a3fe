// SPDX-License-Identifier: Apache-2.0
#include "data/token_sequence.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/check.h"
#include "data/mixed_windows.h"
#include "io/error_text.h"

namespace twill {
namespace {

std::vector<std::int32_t> all_of(const TokenSequence& tokens) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return ids;
}

// 0, 1, 2, … over pieces of every width; the 8-byte one begins at an odd address.
TokenSequence pieces() {
  TokenSequence tokens(std::vector<std::uint16_t>{0, 1, 2});
  tokens.append(TokenSequence(std::vector<std::uint32_t>{3}));
  tokens.append(TokenSequence(std::vector<std::uint16_t>{}));
  static const unsigned char bytes[] = {4, 5, 6};
  tokens.append(nullptr, bytes, 1, 3);
  static const unsigned char wide[] = {9, 7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0};
  tokens.append(nullptr, wide + 1, 8, 2);
  return tokens;
}

TEST(TokenSequence, RangesCrossPieces) {
  const TokenSequence tokens = pieces();
  ASSERT_EQ(tokens.size(), 9);
  for (std::int64_t begin = 0; begin <= 9; ++begin)
    for (std::int64_t count = 0; begin + count <= 9; ++count) {
      std::vector<std::int32_t> want(static_cast<std::size_t>(count));
      std::iota(want.begin(), want.end(), static_cast<std::int32_t>(begin));
      EXPECT_EQ(all_of(tokens.slice(begin, count)), want) << begin << " " << count;
      std::vector<std::int32_t> got(want.size());
      tokens.copy(begin, count, got.data());
      EXPECT_EQ(got, want) << begin << " " << count;
    }
  EXPECT_EQ(tokens[8], 8);
}

TEST(TokenSequence, LargeIds) {
  const TokenSequence tokens(std::vector<std::uint32_t>{2'147'483'647u, 65'536u});
  EXPECT_EQ(tokens[0], 2'147'483'647);
  EXPECT_EQ(tokens[1], 65'536);
}

TEST(TokenSequence, BoundsAreKept) {
  const TokenSequence tokens = pieces();
  std::int32_t id = 0;
  EXPECT_THROW(tokens.copy(9, 1, &id), InternalError);
  EXPECT_THROW(tokens.copy(-1, 1, &id), InternalError);
  EXPECT_THROW(tokens.slice(5, 5), InternalError);
  EXPECT_THROW(TokenSequence()[0], InternalError);
}

TrainingSource source(const char* name, double weight, std::uint16_t fill, std::size_t count) {
  return {name, weight, TokenSequence(std::vector<std::uint16_t>(count, fill))};
}

TEST(MixedWindows, OneSourceIsItsOwnStream) {
  std::vector<std::uint16_t> counting(1000);
  std::iota(counting.begin(), counting.end(), std::uint16_t{0});
  const MixedWindows mix({{"a", 0.3, counting}}, 10, 5);
  const WindowStream stream(counting, 10, 5);
  for (std::int64_t position : {0, 1, 98, 99, 5000}) {
    EXPECT_EQ(mix.place(position).position, position);
    std::int32_t x[10], y[10], want_x[10], want_y[10];
    mix.window(position, x, y);
    stream.window(position, want_x, want_y);
    EXPECT_TRUE(std::equal(x, x + 10, want_x) && std::equal(y, y + 10, want_y)) << position;
  }
}

TEST(MixedWindows, EveryPrefixHasItsShares) {
  const std::vector<double> weights{7.0, 2.0, 0.9, 0.1};
  std::vector<TrainingSource> sources;
  for (std::size_t s = 0; s < weights.size(); ++s)
    sources.push_back(source("s", weights[s], static_cast<std::uint16_t>(s), 100));
  const MixedWindows mix(sources, 4, 1);
  std::vector<std::int64_t> counts(weights.size(), 0);
  for (std::int64_t position = 0; position < 3 * MixedWindows::kPeriod; ++position) {
    const MixedWindows::Place place = mix.place(position);
    ASSERT_EQ(place.position, counts[place.source]++) << "its own windows come in order";
    for (std::size_t s = 0; s < weights.size(); ++s)
      ASSERT_NEAR(static_cast<double>(counts[s]), mix.share(s) * static_cast<double>(position + 1),
                  2.0);
  }
  for (std::size_t s = 0; s < weights.size(); ++s)
    EXPECT_NEAR(mix.share(s), weights[s] / 10.0, 1.0 / 65'536) << s;
  std::int32_t x[4], y[4];
  mix.window(123'457, x, y);
  EXPECT_EQ(x[0], static_cast<std::int32_t>(mix.place(123'457).source));
}

TEST(MixedWindowsErrors, AShareThatIsNeverServed) {
  EXPECT_EQ(error_text([] {
              MixedWindows mix({source("a", 1.0, 0, 9), source("b", 1e-6, 0, 9)}, 4, 1);
            }),
            "data.source: the weight 1e-06 of b is less than 1/65536 of all");
}

}  // namespace
}  // namespace twill
