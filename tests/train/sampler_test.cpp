// SPDX-License-Identifier: Apache-2.0
#include "train/sampler.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "data/byte_tokenizer.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

TEST(DrawToken, TemperatureZeroTakesTheLargestAndTheLowestOfEquals) {
  const std::array logits{1.0f, 3.0f, 3.0f, 2.0f};
  EXPECT_EQ(draw_token(logits.data(), 4, 0.0, 0.99), 1);
}

TEST(DrawToken, FollowsTheDistribution) {
  const std::array logits{std::log(1.0f), std::log(2.0f), std::log(5.0f)};
  std::array<int, 3> counts{};
  constexpr int kDraws = 8000;
  for (int i = 0; i < kDraws; ++i) {
    const Philox4 bits = random_bits(1, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    ++counts[static_cast<std::size_t>(draw_token(logits.data(), 3, 1.0, unit_float(bits[0])))];
  }
  for (std::size_t id = 0; id < 3; ++id) {
    const double p = std::array{1.0, 2.0, 5.0}[id] / 8.0;
    EXPECT_NEAR(counts[id], p * kDraws, 5.0 * std::sqrt(kDraws * p * (1.0 - p))) << id;
  }
}

TEST(DrawToken, EndsOfTheUnitIntervalAreTokens) {
  const std::array logits{0.0f, 0.0f};
  EXPECT_EQ(draw_token(logits.data(), 2, 1.0, 0.0), 0);
  EXPECT_EQ(draw_token(logits.data(), 2, 1.0, 0x1.fffffep-1), 1);
}

std::string sampled(TinyTrainer& tiny, const std::string& prompt, const SampleOptions& options) {
  std::string text;
  sample(tiny.context, tiny.trainer.model(), ByteTokenizer(), prompt, options,
         [&](std::string_view piece) {
           text += piece;
           return true;
         });
  return text;
}

TEST(Sample, SameSeedSameText) {
  TinyTrainer tiny;
  const SampleOptions options{.tokens = 40, .temperature = 1.0, .seed = 3};
  const std::string text = sampled(tiny, "Once", options);
  EXPECT_EQ(text.size(), 40u);
  EXPECT_EQ(text, sampled(tiny, "Once", options));
  EXPECT_NE(text, sampled(tiny, "Once", {.tokens = 40, .temperature = 1.0, .seed = 4}));
}

// Longer than the context: only the last tokens are seen, and it goes on.
TEST(Sample, GoesOnBeyondTheContext) {
  TinyTrainer tiny;
  EXPECT_EQ(sampled(tiny, std::string(50, 'x'), {.tokens = 20}).size(), 20u);
  EXPECT_EQ(sampled(tiny, "", {.tokens = 3}).size(), 3u);
}

}  // namespace
}  // namespace twill
