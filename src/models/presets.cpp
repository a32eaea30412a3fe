// SPDX-License-Identifier: Apache-2.0
#include "models/presets.h"

#include <array>

#include "models/model_config.h"

namespace twill {
namespace {

struct Preset {
  std::string_view name;
  bool llama;
  std::int64_t layers, width, heads, kv_heads, ffn_width, context, vocab;
  bool tied_head;
};

// vocab 0: the tokenizer's size, padded. ffn_width 0: derived.
constexpr std::array kPresets{
    // For a first run on two cores.
    Preset{"tiny", false, 4, 192, 4, 0, 0, 128, 0, true},
    Preset{"tiny-llama", true, 4, 192, 4, 2, 0, 128, 0, false},
    // For measuring a CPU: about 25 million parameters.
    Preset{"small", false, 8, 512, 8, 0, 0, 256, 0, true},
    Preset{"small-llama", true, 8, 512, 8, 4, 0, 256, 0, false},
    // GPT-2 as published, vocabulary 50257.
    Preset{"gpt2-124m", false, 12, 768, 12, 0, 0, 1024, 50257, true},
    Preset{"gpt2-350m", false, 24, 1024, 16, 0, 0, 1024, 50257, true},
    Preset{"gpt2-774m", false, 36, 1280, 20, 0, 0, 1024, 50257, true},
    Preset{"gpt2-1558m", false, 48, 1600, 25, 0, 0, 1024, 50257, true},
    // TinyLlama-1.1B as published: four key/value heads, untied head.
    Preset{"tinyllama-1.1b", true, 22, 2048, 32, 4, 5632, 2048, 32000, false},
    // The dense anchor of our GPU comparisons: full key/value heads, tied head, 2^15 tokens.
    Preset{"llama-1.2b", true, 22, 2048, 16, 0, 5632, 2048, 32768, true},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kPresets.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPresets[i].name;
  return names;
}();

void make_llama(ModelConfig& config) {
  config.family = "llama";
  config.norm = "rms";
  config.positions = "rotary";
  config.bias = false;
  config.ffn.activation = "swiglu";
}

}  // namespace

Choices preset_names() { return kNames; }

std::optional<ModelConfig> find_preset(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name != name) continue;
    ModelConfig config;
    if (preset.llama) make_llama(config);
    config.name = preset.name;
    config.layers = preset.layers;
    config.width = preset.width;
    config.heads = preset.heads;
    config.kv_heads = preset.kv_heads;
    config.ffn.width = preset.ffn_width;
    config.context = preset.context;
    config.vocab = preset.vocab;
    config.tied_head = preset.tied_head;
    return config;
  }
  return std::nullopt;
}

}  // namespace twill
