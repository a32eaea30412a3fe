// SPDX-License-Identifier: Apache-2.0
#include "models/decoding.h"
#include "models/decoder.h"
#include "models/initialise.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "models/tiny_models.h"
#include "support/expected.h"
#include "support/tables.h"

namespace twill {
namespace {

// A model for inference, with a cache or without.
struct Reader {
  Reader(const KernelTable& table, DType dtype, const ModelConfig& config, bool cache,
         int threads = 1)
      : context(table, threads),
        builder(context,
                {.dtype = dtype, .training = false, .max_time = config.context, .decoding = cache}),
        model(builder, config),
        state(context, model) {
    builder.commit();
    initialise(builder.parameters(), 3);
  }

  Values values(ConstView logits) const {
    const auto count = model.config().vocab;
    if (logits.dtype() == DType::kF64) return {logits.as<double>(), logits.as<double>() + count};
    return {logits.as<float>(), logits.as<float>() + count};
  }
  Values prefill(std::span<const std::int32_t> tokens) { return values(state.prefill(tokens)); }
  Values next(std::int32_t token) { return values(state.decode_next(token)); }

  Context context;
  Builder builder;
  Decoder model;
  DecodingState state;
};

std::vector<std::int32_t> random_tokens(const ModelConfig& config, std::int64_t count) {
  Random random;
  std::vector<std::int32_t> tokens;
  for (const double id : random.integers(count, 0, config.vocab - 1))
    tokens.push_back(static_cast<std::int32_t>(id));
  return tokens;
}

double distance(const Values& a, const Values& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}
double norm(const Values& a) { return distance(a, Values(a.size())); }

class DecodingTest : public testing::TestWithParam<NamedModel> {
 protected:
  ModelConfig config() const {
    ModelConfig config = GetParam().config;
    config.context = 12;
    return resolved(config, config.vocab);
  }

 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

// In f64 both ways differ by roundings alone: 1e-12 of the logits' size is 4,500 roundings, far
// below what any wrong position, head or row would do. Long enough to fill the context twice.
TEST_P(DecodingTest, CacheChangesNothing) {
  Reader cached(reference_table(), DType::kF64, config(), true);
  Reader plain(reference_table(), DType::kF64, config(), false);
  const std::vector<std::int32_t> tokens = random_tokens(config(), 30);
  Values got = cached.prefill(std::span(tokens).first(4));
  Values want = plain.prefill(std::span(tokens).first(4));
  for (std::size_t i = 4; i < tokens.size(); ++i) {
    ASSERT_LE(distance(got, want), 1e-12 * norm(want)) << "before token " << i;
    got = cached.next(tokens[i]);
    want = plain.next(tokens[i]);
  }
}

// Two-oracle rule on the whole model, as for the losses (decoder_test.cpp): the reference in f32
// rounds once per number and op, a backend that sums 48 terms in f32 rounds 48 times.
TEST_P(DecodingTest, CpuAgreesWithReference) {
  Reader oracle(reference_table(), DType::kF64, config(), false);
  Reader naive(reference_table(), DType::kF32, config(), true);
  Reader ours(cpu_table(), DType::kF32, config(), true, 2);
  const std::vector<std::int32_t> tokens = random_tokens(config(), 12);
  const double growth = std::sqrt(48.0);
  Values want = oracle.prefill(std::span(tokens).first(1));
  Values close = naive.prefill(std::span(tokens).first(1));
  Values got = ours.prefill(std::span(tokens).first(1));
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    ASSERT_LE(distance(got, want), growth * distance(close, want) + 16.0 * kEpsF32 * norm(want));
    want = oracle.next(tokens[i]);
    close = naive.next(tokens[i]);
    got = ours.next(tokens[i]);
  }
}

TEST_P(DecodingTest, GreedyIdsAreTheSame) {
  const auto likeliest = [](const Values& logits) {
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
  };
  const auto write = [&](bool cache, int threads) {
    Reader reader(cpu_table(), DType::kF32, config(), cache, threads);
    const std::vector<std::int32_t> prompt = random_tokens(config(), 5);
    std::vector<std::int32_t> ids{likeliest(reader.prefill(prompt))};
    while (ids.size() < 40) ids.push_back(likeliest(reader.next(ids.back())));
    return ids;
  };
  const std::vector<std::int32_t> ids = write(true, 1);
  EXPECT_EQ(ids, write(false, 1));
  EXPECT_EQ(ids, write(true, 2));
  EXPECT_EQ(ids, write(true, 3));
}

INSTANTIATE_TEST_SUITE_P(Models, DecodingTest, testing::ValuesIn(tiny_models()),
                         [](const auto& model) { return model.param.name; });

// Context 5: a full window keeps its newest two tokens, one of them the new one.
TEST(DecodingWindow, KeepsTheNewestHalf) {
  Reader reader(cpu_table(), DType::kF32, resolved(tiny_gpt(), 11), true);
  using Ids = std::vector<std::int32_t>;
  const auto window = [&] {
    return Ids(reader.state.window().begin(), reader.state.window().end());
  };
  reader.prefill(Ids{1, 2, 3, 4});
  reader.next(5);
  EXPECT_EQ(window(), (Ids{1, 2, 3, 4, 5}));
  const Values full = reader.next(6);
  EXPECT_EQ(window(), (Ids{5, 6}));
  EXPECT_EQ(full, reader.prefill(Ids{5, 6}));
  reader.prefill(Ids{1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(window(), (Ids{3, 4, 5, 6, 7}));
}

TEST(DecodingMemory, OnlyDecodingPaysForTheCache) {
  Context context(cpu_table(), 1);
  const ModelConfig config = resolved(tiny_llama(), 11);
  const auto bytes = [&](bool cache) {
    Builder builder(context, {.training = false, .max_time = 64, .decoding = cache});
    const Decoder model(builder, config);
    std::int64_t sum = 0;
    for (const MemoryLine& line : builder.memory_table()) sum += line.bytes;
    return sum;
  };
  // Keys and values of 64 tokens, two layers, two key/value heads of two: 4 KiB in four buffers.
  EXPECT_EQ(bytes(true) - bytes(false), 4 * 64 * 2 * 2 * 4);
}

// Scores are the losses token by token, and greedy means the likeliest of the logits.
TEST(Scores, AgreeWithLogitsOneByOne) {
  const ModelConfig config = resolved(tiny_llama(), 11);
  Reader reader(cpu_table(), DType::kF32, config, false);
  const std::vector<std::int32_t> tokens = random_tokens(config, 6);
  std::vector<std::int32_t> targets(tokens.begin() + 1, tokens.end());
  targets[1] = -1;
  const Pass pass{.context = reader.context, .time = 5};
  const std::vector<TargetScore> scores =
      reader.model.score(pass, token_batch(1, std::span(tokens).first(5), targets));
  ASSERT_EQ(scores.size(), 5u);
  int greedy = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const Values logits = reader.prefill(std::span(tokens).first(i + 1));
    double sum = 0.0;
    for (const double logit : logits) sum += std::exp(logit);
    const auto best = std::ranges::max_element(logits) - logits.begin();
    if (targets[i] < 0) {
      EXPECT_EQ(scores[i].loss, 0.0);
      EXPECT_FALSE(scores[i].greedy);
      continue;
    }
    const double loss = std::log(sum) - logits[static_cast<std::size_t>(targets[i])];
    // Logits of a pass over one row and over five differ by the order of sums: 8 to 12 terms.
    EXPECT_NEAR(scores[i].loss, loss, 64.0 * kEpsF32 * (norm(logits) + 1.0)) << i;
    EXPECT_EQ(scores[i].greedy, best == targets[i]) << i;
    greedy += scores[i].greedy ? 1 : 0;
    // What is greedy is found by asking for it.
    targets[i] = static_cast<std::int32_t>(best);
  }
  const std::vector<TargetScore> again =
      reader.model.score(pass, token_batch(1, std::span(tokens).first(5), targets));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(again[i].greedy, i != 1) << i;
}

}  // namespace
}  // namespace twill
