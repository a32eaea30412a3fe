// SPDX-License-Identifier: Apache-2.0
#include "models/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/require.h"
#include "models/presets.h"

namespace twill {
namespace {

constexpr std::array<std::string_view, 2> kFamilies{"gpt", "llama"};
constexpr std::array<std::string_view, 2> kNorms{"layer", "rms"};
constexpr std::array<std::string_view, 2> kPositions{"learned", "rotary"};
constexpr std::array<std::string_view, 6> kActivations{"gelu",   "gelu-tanh", "relu2",
                                                       "swiglu", "geglu",     "geglu-tanh"};
// In the order of the names.
constexpr std::array kActivationKinds{Activation::kGelu,  Activation::kGeluTanh,
                                      Activation::kRelu2, Activation::kSwiglu,
                                      Activation::kGeglu, Activation::kGegluTanh};
static_assert(kActivations.size() == kActivationKinds.size());

// Matrix libraries and tensor cores like multiples of 64.
constexpr std::int64_t kVocabMultiple = 64;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Four widths, or for a gated layer two thirds of that, so that its three matrices weigh as much as
// the two of a plain one.
std::int64_t default_ffn_width(const ModelConfig& config) {
  if (!is_gated(config.ffn.kind())) return 4 * config.width;
  return round_up(8 * config.width / 3, kVocabMultiple);
}

}  // namespace

void FfnConfig::fields(FieldVisitor& visit) {
  visit("activation", activation, kActivations,
        "non-linearity of the feed-forward layer; swiglu, geglu and geglu-tanh are gated");
  visit("width", width, Range<std::int64_t>{0, 1 << 20},
        "hidden width; 0 takes 4 x model.width, or 8/3 of it when gated");
}

Activation FfnConfig::kind() const {
  const auto name = std::ranges::find(kActivations, activation);
  TWILL_CHECK(name != kActivations.end(), "the config's choices are the activations");
  return kActivationKinds[static_cast<std::size_t>(name - kActivations.begin())];
}

void InitConfig::fields(FieldVisitor& visit) {
  visit("std", std, Range<double>{0.0, 10.0}, "standard deviation of the initial weights");
  visit("residual_scale", residual_scale, Range<double>{0.0, 10.0},
        "factor on it for projections onto the residual stream; 0 takes 1/sqrt(2 layers)");
}

void ModelConfig::fields(FieldVisitor& visit) {
  visit("name", name, preset_names(), "preset that all other model keys start from");
  visit("family", family, kFamilies, "names runs and decides the export format");
  visit("layers", layers, Range<std::int64_t>{1, 1000}, "transformer blocks");
  visit("width", width, Range<std::int64_t>{1, 1 << 16}, "width of the residual stream");
  visit("heads", heads, Range<std::int64_t>{1, 4096}, "query heads; must divide model.width");
  visit("kv_heads", kv_heads, Range<std::int64_t>{0, 4096},
        "key and value heads; must divide model.heads; 0 takes model.heads");
  visit("context", context, Range<std::int64_t>{1, 1 << 24}, "tokens the model sees at once");
  visit("vocab", vocab, Range<std::int64_t>{0, 1 << 22},
        "size of the vocabulary; 0 takes the tokenizer's, padded to a multiple of 64");
  visit("norm", norm, kNorms, "layer: LayerNorm; rms: RMSNorm");
  visit("norm_eps", norm_eps, Range<double>{0.0, 1.0}, "added to the variance");
  visit("positions", positions, kPositions, "learned table or rotary embedding");
  visit("rotary_theta", rotary_theta, Range<double>{1.0, 1e12}, "base of the rotary frequencies");
  visit("bias", bias, "biases in linear layers and LayerNorm");
  visit("tied_head", tied_head, "the head shares the token embedding");
  visit("dropout", dropout, Range<double>{0.0, 0.9},
        "dropout behind the embedding and on both residual branches");
  visit.section("ffn", ffn, "feed-forward layer");
  visit.section("init", init, "initial weights");
}

ModelConfig resolved(ModelConfig config, std::int64_t tokenizer_vocab) {
  require(config.width % config.heads == 0,
          "model.width = {} must be a multiple of model.heads = {}", config.width, config.heads);
  if (config.kv_heads == 0) config.kv_heads = config.heads;
  require(config.heads % config.kv_heads == 0,
          "model.heads = {} must be a multiple of model.kv_heads = {}", config.heads,
          config.kv_heads);
  require(config.positions != "rotary" || config.width / config.heads % 2 == 0,
          "rotary positions need an even head width, got model.width / model.heads = {}",
          config.width / config.heads);
  if (config.vocab == 0) config.vocab = round_up(tokenizer_vocab, kVocabMultiple);
  require(config.vocab >= tokenizer_vocab,
          "model.vocab = {} is smaller than the tokenizer's {} tokens", config.vocab,
          tokenizer_vocab);
  if (config.ffn.width == 0) config.ffn.width = default_ffn_width(config);
  if (config.init.residual_scale == 0.0)
    config.init.residual_scale = 1.0 / std::sqrt(2.0 * static_cast<double>(config.layers));
  return config;
}

std::int64_t num_parameters(const ModelConfig& c) {
  const std::int64_t head_dim = c.width / c.heads;
  const std::int64_t qkv = (c.heads + 2 * c.kv_heads) * head_dim;
  const std::int64_t ffn_in = c.ffn.width * (is_gated(c.ffn.kind()) ? 2 : 1);
  const std::int64_t norm = c.width * (c.norm == "layer" && c.bias ? 2 : 1);
  const std::int64_t matrices = c.width * (qkv + c.width + ffn_in + c.ffn.width);
  const std::int64_t biases = c.bias ? qkv + ffn_in + 2 * c.width : 0;
  const std::int64_t embedding = c.vocab * c.width * (c.tied_head ? 1 : 2) +
                                 (c.positions == "learned" ? c.context * c.width : 0);
  return c.layers * (matrices + biases + 2 * norm) + norm + embedding;
}

}  // namespace twill
