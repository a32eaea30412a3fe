// SPDX-License-Identifier: Apache-2.0
#include "models/model_config.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "models/families.h"
#include "models/presets.h"

namespace twill {
namespace {

constexpr std::array<std::string_view, 2> kNorms{"layer", "rms"};
constexpr std::array<std::string_view, 2> kPositions{"learned", "rotary"};
constexpr std::array<std::string_view, 6> kActivations{"gelu",   "gelu-tanh", "relu2",
                                                       "swiglu", "geglu",     "geglu-tanh"};
// In the order of the names.
constexpr std::array kActivationKinds{Activation::kGelu,  Activation::kGeluTanh,
                                      Activation::kRelu2, Activation::kSwiglu,
                                      Activation::kGeglu, Activation::kGegluTanh};
static_assert(kActivations.size() == kActivationKinds.size());

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
  visit("family", family, family_names(), "names runs and decides the export format");
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

}  // namespace twill
