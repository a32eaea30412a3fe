// SPDX-License-Identifier: Apache-2.0
#include "train/step/trainer.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

TEST(Trainer, SameSeedSameBits) {
  TinyTrainer a({"model.dropout=0.1"}), b({"model.dropout=0.1"});
  EXPECT_EQ(a.losses(5), b.losses(5));
  EXPECT_EQ(a.weights(), b.weights());
  TinyTrainer other({"model.dropout=0.1", "train.seed=2"});
  EXPECT_NE(other.losses(5), a.losses(5));
}

TEST(Trainer, ThreadsChangeNoBit) {
  TinyTrainer one({"model.width=64"});
  const std::vector<double> losses = one.losses(4);
  for (const char* threads : {"threads=2", "threads=3"}) {
    TinyTrainer many({"model.width=64", threads});
    EXPECT_EQ(many.losses(4), losses);
    EXPECT_EQ(many.weights(), one.weights());
  }
}

// Accumulating 2 x 2 sequences is one batch of 4: the same mean of the same gradients, summed in
// another order. AdamW turns an error in a gradient g into one of lr eps_g / |g|, so weights with
// tiny gradients may differ by up to lr; the loss of the next steps may not.
TEST(Trainer, AccumulationIsALargerBatch) {
  TinyTrainer whole, parts({"train.micro_batch=2", "train.batch_tokens=64"});
  const std::vector<double> a = whole.losses(6), b = parts.losses(6);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5) << "step " << i;
  EXPECT_EQ(whole.trainer.progress().tokens, parts.trainer.progress().tokens);
  EXPECT_EQ(whole.trainer.progress().windows, parts.trainer.progress().windows);
}

TEST(Trainer, Learns) {
  TinyTrainer tiny({"train.steps=150", "optimizer.lr=1e-2"});
  const double before = tiny.trainer.evaluate();
  EXPECT_NEAR(before, std::log(256.0), 0.1);  // an untrained model knows nothing
  tiny.losses(150);
  EXPECT_LT(tiny.trainer.evaluate(), 0.6 * before);
}

TEST(Trainer, ANonFiniteStepChangesNothing) {
  TinyTrainer tiny;
  tiny.losses(2);
  float* weight = tiny.trainer.builder().parameters()[0].value.as<float>();
  const float kept = *weight;
  *weight = std::numeric_limits<float>::quiet_NaN();
  // The poisoned token must be in the batch: poison the whole table instead of hoping.
  const std::int64_t count = tiny.trainer.builder().parameters()[0].value.num_elements();
  std::vector<float> table(weight, weight + count);
  std::fill_n(weight, count, std::numeric_limits<float>::quiet_NaN());
  const StepResult result = tiny.trainer.step();
  EXPECT_FALSE(result.finite);
  EXPECT_EQ(tiny.trainer.progress().step, 3);
  EXPECT_EQ(tiny.trainer.progress().updates, 2);
  std::ranges::copy(table, weight);
  *weight = kept;
  EXPECT_TRUE(tiny.trainer.step().finite);
  EXPECT_EQ(tiny.trainer.progress().updates, 3);
}

TEST(Trainer, ShowsItsMemoryBeforeTakingIt) {
  const RunConfig config = tiny_config();
  const TrainingData data = open_run_data(config);
  Context context(cpu_table(), 1);
  const Trainer trainer(context, config, data);
  std::int64_t weights = 0;
  for (const MemoryLine& line : trainer.memory_table())
    if (line.region == "weights") weights = line.bytes;
  EXPECT_GE(weights, 4 * num_parameters(config.model));
  EXPECT_LE(weights, 4 * num_parameters(config.model) + 64 * 40);  // 64-byte alignment
}

TEST(RunConfig, RefusesBatchesThatDoNotDivide) {
  expect_error([] { tiny_config({"train.batch_tokens=100"}); },
               "train.batch_tokens = 100 must be a multiple of train.micro_batch x sequence = 64; "
               "the nearest is 128");
  expect_error([] { tiny_config({"train.sequence=32"}); },
               "train.sequence = 32 is longer than model.context = 16");
}

TEST(RunConfig, PresetsComeFirstThenPairs) {
  const RunConfig config = read_run_config("", {"model.layers=3", "model=gpt2-124m"});
  EXPECT_EQ(config.model.width, 768);
  EXPECT_EQ(config.model.layers, 3);
  EXPECT_EQ(config.model.vocab, 50257);
}

}  // namespace
}  // namespace twill
