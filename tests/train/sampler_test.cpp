// SPDX-License-Identifier: Apache-2.0
#include "train/model/sampler.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/expect_error.h"
#include "support/marked_bytes.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

std::int32_t draw(std::span<const float> logits, const SampleOptions& options, double uniform) {
  return draw_token(logits, options, uniform);
}

// Which ids come up when the unit interval is walked through in small steps.
std::set<std::int32_t> drawn(std::span<const float> logits, const SampleOptions& options) {
  std::set<std::int32_t> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(draw_token(logits, options, i / 1000.0));
  return ids;
}

using Ids = std::set<std::int32_t>;

TEST(DrawToken, TemperatureZeroTakesTheLargestAndTheLowestOfEquals) {
  const std::array logits{1.0f, 3.0f, 3.0f, 2.0f};
  EXPECT_EQ(draw(logits, {.temperature = 0.0}, 0.99), 1);
  EXPECT_EQ(draw(logits, {.temperature = 0.0, .top_k = 3, .top_p = 0.5}, 0.99), 1);
}

TEST(DrawToken, FollowsTheDistribution) {
  const std::array logits{std::log(1.0f), std::log(2.0f), std::log(5.0f)};
  std::array<int, 3> counts{};
  constexpr int kDraws = 8000;
  for (int i = 0; i < kDraws; ++i) {
    const Philox4 bits = random_bits(1, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    ++counts[static_cast<std::size_t>(draw(logits, {.temperature = 1.0}, unit_float(bits[0])))];
  }
  for (std::size_t id = 0; id < 3; ++id) {
    const double p = std::array{1.0, 2.0, 5.0}[id] / 8.0;
    EXPECT_NEAR(counts[id], p * kDraws, 5.0 * std::sqrt(kDraws * p * (1.0 - p))) << id;
  }
}

TEST(DrawToken, EndsOfTheUnitIntervalAreTokens) {
  const std::array logits{0.0f, 0.0f};
  EXPECT_EQ(draw(logits, {.temperature = 1.0}, 0.0), 0);
  EXPECT_EQ(draw(logits, {.temperature = 1.0}, 0x1.fffffep-1), 1);
}

TEST(DrawToken, TopKKeepsExactlyK) {
  const std::array logits{1.0f, 3.0f, 2.0f, 3.0f, 2.0f};
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 1}), (Ids{1}));
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 2}), (Ids{1, 3}));
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 3}),
            (Ids{1, 2, 3}));  // 2 before its equal 4
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 0}), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 99}), (Ids{0, 1, 2, 3, 4}));
}

// Probabilities 1/8, 4/8, 2/8, 1/8: all exact.
TEST(DrawToken, TopPKeepsTheShortestBeginningThatReachesP) {
  const std::array logits{0.0f, std::log(4.0f), std::log(2.0f), 0.0f};
  const auto kept = [&](double p) { return drawn(logits, {.temperature = 1.0, .top_p = p}); };
  EXPECT_EQ(kept(0.0), (Ids{1}));  // at least one
  EXPECT_EQ(kept(0.49), (Ids{1}));
  EXPECT_EQ(kept(0.51), (Ids{1, 2}));
  EXPECT_EQ(kept(0.74), (Ids{1, 2}));
  EXPECT_EQ(kept(0.8), (Ids{0, 1, 2}));  // of the equals 0 and 3 the lower
  EXPECT_EQ(kept(0.95), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(kept(1.0), (Ids{0, 1, 2, 3}));
}

// After top_k = 2 the probabilities are 2/3 and 1/3: 0.6 is reached by the first alone.
TEST(DrawToken, TopKComesBeforeTopP) {
  const std::array logits{0.0f, std::log(4.0f), std::log(2.0f), 0.0f};
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 2, .top_p = 0.6}), (Ids{1}));
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 2, .top_p = 0.7}), (Ids{1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_p = 0.6}), (Ids{1, 2}));
}

// Hot logits are flatter, so the nucleus is wider.
TEST(DrawToken, TemperatureComesBeforeTopP) {
  const std::array logits{0.0f, std::log(4.0f)};
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_p = 0.75}), (Ids{1}));
  EXPECT_EQ(drawn(logits, {.temperature = 2.0, .top_p = 0.75}), (Ids{0, 1}));
}

TEST(DrawToken, EqualLogitsFavourNobody) {
  const std::array<float, 4> logits{};
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_p = 0.5}), (Ids{0, 1}));
  EXPECT_EQ(drawn(logits, {.temperature = 1.0, .top_k = 3}), (Ids{0, 1, 2}));
}

TEST(DrawToken, KeptTokensKeepTheirProportions) {
  const std::array logits{std::log(1.0f), std::log(3.0f), -1e30f};
  const SampleOptions options{.temperature = 1.0, .top_k = 2};
  EXPECT_EQ(draw(logits, options, 0.24), 0);
  EXPECT_EQ(draw(logits, options, 0.26), 1);
}

TEST(DrawToken, RefusesLogitsThatAreNoNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::array nan{0.0f, std::numeric_limits<float>::quiet_NaN()};
  const std::array inf{kInf, 0.0f}, none{-kInf, -kInf}, some{-kInf, 0.0f};
  for (const double temperature : {0.0, 1.0}) {
    const SampleOptions options{.temperature = temperature};
    expect_error([&] { draw(nan, options, 0.5); }, "the model's logit of token 1 is nan");
    expect_error([&] { draw(inf, options, 0.5); }, "the model's logit of token 0 is inf");
    expect_error([&] { draw(none, options, 0.5); }, "the model gives no token a chance");
    EXPECT_EQ(draw(some, options, 0.0), 1);
  }
}

TEST(PromptIds, BeginWhereTheModelExpects) {
  using Vector = std::vector<std::int32_t>;
  EXPECT_EQ(prompt_ids(ByteTokenizer(), "ab"), (Vector{97, 98}));
  EXPECT_EQ(prompt_ids(ByteTokenizer(), ""), (Vector{10}));
  MarkedBytes tokenizer;
  tokenizer.end = 2;
  EXPECT_EQ(prompt_ids(tokenizer, "a"), (Vector{97}));
  EXPECT_EQ(prompt_ids(tokenizer, ""), (Vector{2}));
  tokenizer.begin = 1;
  EXPECT_EQ(prompt_ids(tokenizer, "a"), (Vector{1, 97}));
  EXPECT_EQ(prompt_ids(tokenizer, ""), (Vector{1}));
}

std::string sampled(TinyTrainer& tiny, const std::string& prompt, const SampleOptions& options) {
  std::string text;
  sample(tiny.context, as_language_model(tiny.trainer.model(), "a test"), ByteTokenizer(), prompt,
         options, [&](std::string_view piece) {
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

TEST(Sample, StopsAtTheEndOfText) {
  TinyTrainer tiny;
  const SampleOptions options{.tokens = 40, .temperature = 1.0, .seed = 3};
  const std::string text = sampled(tiny, "Once", options);
  MarkedBytes tokenizer;
  tokenizer.end = static_cast<unsigned char>(text[10]);
  std::string cut;
  sample(tiny.context, as_language_model(tiny.trainer.model(), "a test"), tokenizer, "Once",
         options, [&](std::string_view piece) {
           cut += piece;
           return true;
         });
  EXPECT_EQ(cut, text.substr(0, text.find(text[10])));
}

// Longer than the context: only the last tokens are seen, and it goes on.
TEST(Sample, GoesOnBeyondTheContext) {
  TinyTrainer tiny;
  EXPECT_EQ(sampled(tiny, std::string(50, 'x'), {.tokens = 20}).size(), 20u);
  EXPECT_EQ(sampled(tiny, "", {.tokens = 3}).size(), 3u);
}

}  // namespace
}  // namespace twill
