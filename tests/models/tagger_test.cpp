// SPDX-License-Identifier: Apache-2.0
// A model that is no decoder goes through the real trainer, dense and with a recipe.
#include "models/tagger.h"

#include <cmath>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "train/run/checkpoint.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

constexpr std::int64_t kLabels = 2;

// A trainer of taggers on LookAhead.
struct TinyTagger {
  explicit TinyTagger(const std::vector<std::string>& more)
      : config(settings(more)),
        context(open_context(config)),
        trainer(context, config,
                {std::make_shared<LookAhead>(config.sequence(), 1000, 1),
                 std::make_shared<LookAhead>(config.sequence(), 10, 2)},
                {}, [](Builder& builder, const ModelConfig& model) {
                  return std::make_unique<Tagger>(builder, model, kLabels);
                }) {
    trainer.begin();
  }
  static RunConfig settings(const std::vector<std::string>& more) {
    std::vector<std::string> all{"model.layers=1",  "model.vocab=64",    "model.width=32",
                                 "train.steps=300", "optimizer.lr=0.01", "train.micro_batch=8"};
    all.insert(all.end(), more.begin(), more.end());
    return resolved(read_run_config("", tiny_settings(all)), 0);
  }

  RunConfig config;
  Context context;
  Trainer trainer;
};

TEST(Tagger, LearnsWhatOnlyTheNextTokenTells) {
  for (const char* recipe : {"recipe=dense", "recipe=fst"}) {
    TinyTagger tiny({recipe});
    const double before = tiny.trainer.evaluate();
    EXPECT_NEAR(before, std::log(2.0), 0.05);
    while (tiny.trainer.progress().step < tiny.config.train.steps) tiny.trainer.step();
    // A causal model knows nothing of the next token: log 2.
    EXPECT_LT(tiny.trainer.evaluate(), 0.2) << recipe;
  }
}

// Batches have different numbers of targets: every target counts alike, wherever it stands.
TEST(Tagger, LossIsTheMeanOverTargets) {
  TinyTagger tiny({"recipe=dense", "train.micro_batch=3"});
  const LookAhead data(tiny.config.sequence(), 10, 2);
  double sum = 0.0, targets = 0.0;
  for (std::int64_t row = 0; row < data.size(); ++row) {
    BatchStorage storage(data.layout(), 1);
    const Batch batch = storage.rows(0, 1);
    data.fill(row, batch);
    const PassLoss loss = tiny.trainer.model().loss(
        {.context = tiny.context, .batch = 1, .time = tiny.config.sequence()}, batch);
    sum += loss.mean * loss.targets;
    targets += loss.targets;
  }
  EXPECT_EQ(targets, 10.0 * 15.0 - 13.0);  // row r is r % 4 tokens shorter
  // Sums of 137 losses near 0.7 in f32, in another order and company: 2^-24 each.
  EXPECT_NEAR(tiny.trainer.evaluate(), sum / targets, 1e-6);
}

TEST(Tagger, ResumesToTheSameBits) {
  const TempDir dir;
  TinyTagger whole({"recipe=fst", "train.steps=12"});
  for (int step = 0; step < 6; ++step) whole.trainer.step();
  const std::string path = save_checkpoint(dir.path(), whole.trainer, 1);
  TinyTagger again({"recipe=fst", "train.steps=12"});
  load_checkpoint(path, again.trainer);
  for (int step = 0; step < 6; ++step)
    EXPECT_EQ(whole.trainer.step().loss, again.trainer.step().loss) << step;
}

TEST(Tagger, WritesNoText) {
  TinyTagger tiny({"recipe=dense"});
  EXPECT_THROW(as_language_model(tiny.trainer.model(), "a sample"), Error);
}

}  // namespace
}  // namespace twill
