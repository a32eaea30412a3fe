// SPDX-License-Identifier: Apache-2.0
// A model that is no decoder goes through the real trainer, dense and with a recipe.
#include "models/tagger.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "ops/transfer.h"
#include "support/expect_error.h"
#include "support/fake_device.h"
#include "train/model/trained_model.h"
#include "train/run/checkpoint.h"
#include "train/stop_after.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

std::vector<std::string> tagger_settings(const std::vector<std::string>& more) {
  add_tagger();
  std::vector<std::string> all{"model.family=tagger", "model.layers=1",      "model.vocab=64",
                               "model.width=32",      "data.tokenizer=none", "train.steps=300",
                               "optimizer.lr=0.01",   "train.micro_batch=8"};
  all.insert(all.end(), more.begin(), more.end());
  return tiny_settings(all);
}

// A trainer of taggers on LookAhead.
struct TinyTagger {
  explicit TinyTagger(const std::vector<std::string>& more,
                      const KernelTable& kernels = cpu_table())
      : config(set_up(read_run_config("", tagger_settings(more))).config),
        table(kernels),
        context(table, 1),
        trainer(context, config, open_run_data(config)) {
    trainer.begin();
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Parameter& parameter : trainer.builder().parameters()) add(all, parameter.value);
    return all;
  }
  std::vector<float> gradients() const {
    std::vector<float> all;
    for (const Parameter& parameter : trainer.builder().parameters()) add(all, parameter.gradient);
    return all;
  }

  RunConfig config;
  KernelTable table;
  Context context;
  Trainer trainer;

 private:
  void add(std::vector<float>& all, ConstView view) const {
    const std::vector<float> values = host_floats(context, view);
    all.insert(all.end(), values.begin(), values.end());
  }
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

// Three sequences a micro-batch, whose lengths repeat after four: no micro-batch has the lengths, nor the
// number of targets, of its neighbour.
std::vector<std::string> uneven(const std::vector<std::string>& more = {}) {
  std::vector<std::string> all{"train.micro_batch=3", "train.batch_tokens=192", "train.steps=12",
                               "optimizer.clip=0"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Lengths and counts are read when recorded work runs: the last steps are replayed.
TEST(Tagger, HasTheBitsOfTheHostOnADevice) {
  for (const char* recipe : {"recipe=dense", "recipe=fst", "recipe=static"}) {
    TinyTagger host(uneven({recipe}), reference_table());
    TinyTagger device(uneven({recipe}), fake_device_table());
    for (int step = 0; step < 6; ++step) {
      const StepResult want = host.trainer.step(), got = device.trainer.step();
      ASSERT_EQ(got.loss, want.loss) << recipe << ", step " << step;
    }
    EXPECT_EQ(device.weights(), host.weights()) << recipe;
    EXPECT_EQ(device.trainer.evaluate(), host.trainer.evaluate()) << recipe;
    EXPECT_GT(fake_device_counts(device.context).replays, 0);
  }
}

// One mean over all targets of a step, however it is cut. A mean of the micro-batches' means differs in
// the second digit: they have 39, 41, 43 and 40 targets.
TEST(Tagger, FourMicroBatchesAreOneLargeOne) {
  for (const KernelTable& table :
       {reference_table(), KernelTable(cpu_table()), fake_device_table()}) {
    TinyTagger four(uneven(), table), one(uneven({"train.micro_batch=12"}), table);
    ASSERT_EQ(four.config.accumulation(), 4);
    ASSERT_EQ(one.config.accumulation(), 1);
    // Sums of 160 losses near 0.7 in f32, and their mean.
    EXPECT_NEAR(four.trainer.step().loss, one.trainer.step().loss, 1e-6);
    const std::vector<float> a = four.gradients(), b = one.gradients();
    ASSERT_EQ(a.size(), b.size());
    // Gradients are sums over 192 tokens, rounded to f32 once or four times on the way.
    float largest = 0.0f;
    for (const float g : b) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5 * largest) << i;
  }
}

// Plan, memory table, facts, checkpoints, resume and evaluation of a run know no decoder either.
TEST(Tagger, GoesThroughAWholeRun) {
  const TempDir dir;
  const auto settings = [&](const char* name) {
    return tagger_settings(uneven({"recipe=fst", "run.dir=" + dir.path(),
                                   std::string("run.name=") + name, "checkpoint.every=4"}));
  };
  const auto run = [&](const TrainRequest& request, std::int64_t stop_after) {
    StopAfter listener(stop_after);
    return run_training(request, listener, listener.stop);
  };
  ASSERT_EQ(run({.config_file = "", .overrides = settings("whole"), .resume = ""}, -1),
            Outcome::kDone);
  ASSERT_EQ(run({.config_file = "", .overrides = settings("cut"), .resume = ""}, 6),
            Outcome::kInterrupted);
  ASSERT_EQ(run({.config_file = "", .overrides = {"run.dir=" + dir.path()}, .resume = "cut"}, -1),
            Outcome::kDone);
  const std::string end = "/checkpoints/step-00000012/model.safetensors";
  EXPECT_EQ(content_of(dir / ("cut" + end)), content_of(dir / ("whole" + end)));
  const auto model = open_trained_model("cut", dir.path(), 0, {"device=cpu"});
  const Evaluation result = evaluate(*model, model->config());
  EXPECT_GT(result.loss, 0.0);
  EXPECT_EQ(result.tokens, 160);
  EXPECT_FALSE(result.bits_per_byte.has_value());
  EXPECT_THROW(model->language_model(), Error);
}

TEST(Tagger, CountsItsParameters) {
  TinyTagger tiny({"recipe=dense"});
  std::int64_t count = 0;
  for (const Parameter& parameter : tiny.trainer.builder().parameters())
    count += parameter.value.num_elements();
  EXPECT_EQ(num_parameters(tiny.config.model), count);
}

// A pattern of causal attention means nothing to a model that looks both ways.
TEST(Tagger, RefusesAPatternOfCausalAttention) {
  expect_error(
      [] {
        TinyTagger tiny({"recipe=fst", "recipe.phase.0.attention.mask=local"});
      },
      "recipe fst: attention.mask = \"local\" is a pattern of causal attention, and "
      "blocks.0.attention is not plain causal attention; leave attention.mask out, or train "
      "a causal model");
}

TEST(Families, AnUnknownOneIsRefused) {
  ModelConfig config;
  config.family = "gtp";
  const Context context(cpu_table(), 1);
  Builder builder(context, {});
  expect_error([&] { make_model(builder, config); },
               "model.family = \"gtp\" is not known; expected one of gpt, llama");
  EXPECT_THROW(static_cast<void>(num_parameters(config)), Error);
}

TEST(Tagger, WritesNoText) {
  TinyTagger tiny({"recipe=dense"});
  EXPECT_THROW(as_language_model(tiny.trainer.model(), "a sample"), Error);
}

}  // namespace
}  // namespace twill
