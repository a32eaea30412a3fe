// SPDX-License-Identifier: Apache-2.0
#include "models/model_config.h"

#include <gtest/gtest.h>

#include "models/presets.h"
#include "support/expect_error.h"

namespace twill {
namespace {

std::int64_t size_of_preset(std::string_view name) {
  return num_parameters(resolved(*find_preset(name), 256));
}

// The published sizes, to the parameter.
TEST(Presets, HaveTheirPublishedSizes) {
  EXPECT_EQ(size_of_preset("gpt2-124m"), 124'439'808);
  EXPECT_EQ(size_of_preset("gpt2-350m"), 354'823'168);
  EXPECT_EQ(size_of_preset("gpt2-774m"), 774'030'080);
  EXPECT_EQ(size_of_preset("gpt2-1558m"), 1'557'611'200);
  EXPECT_EQ(size_of_preset("tinyllama-1.1b"), 1'100'048'384);
}

TEST(Presets, AreFoundByNameOnly) {
  for (const std::string_view name : preset_names()) EXPECT_EQ(find_preset(name)->name, name);
  EXPECT_FALSE(find_preset("gpt3").has_value());
}

TEST(Presets, TinyIsTheDefault) {
  const ModelConfig tiny = *find_preset("tiny"), standard;
  EXPECT_EQ(tiny.layers, standard.layers);
  EXPECT_EQ(tiny.width, standard.width);
  EXPECT_EQ(tiny.heads, standard.heads);
  EXPECT_EQ(tiny.context, standard.context);
}

TEST(ModelConfig, DerivesWhatIsLeftOut) {
  ModelConfig config;
  config.width = 96;
  config.heads = 6;
  config.layers = 8;
  const ModelConfig got = resolved(config, 257);
  EXPECT_EQ(got.vocab, 320);
  EXPECT_EQ(got.kv_heads, 6);
  EXPECT_EQ(got.ffn.width, 384);
  EXPECT_EQ(got.init.residual_scale, 0.25);
  config.ffn.activation = "swiglu";
  EXPECT_EQ(resolved(config, 256).ffn.width, 256);
}

TEST(ModelConfig, ResolvingTwiceChangesNothing) {
  const ModelConfig once = resolved(ModelConfig(), 256), twice = resolved(once, 256);
  EXPECT_EQ(once.vocab, twice.vocab);
  EXPECT_EQ(once.ffn.width, twice.ffn.width);
  EXPECT_EQ(once.init.residual_scale, twice.init.residual_scale);
}

TEST(ModelConfig, RefusesShapesThatDoNotFit) {
  ModelConfig config;
  config.width = 10;
  config.heads = 4;
  expect_error([&] { resolved(config, 256); },
               "model.width = 10 must be a multiple of model.heads = 4");
  config.width = 12;
  config.kv_heads = 3;
  expect_error([&] { resolved(config, 256); },
               "model.heads = 4 must be a multiple of model.kv_heads = 3");
  config.kv_heads = 4;
  config.positions = "rotary";
  expect_error([&] { resolved(config, 256); }, "rotary positions need an even head width, got");
  config.positions = "learned";
  config.vocab = 100;
  expect_error([&] { resolved(config, 256); },
               "model.vocab = 100 is smaller than the tokenizer's 256 tokens");
}

}  // namespace
}  // namespace twill
