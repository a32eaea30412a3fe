// SPDX-License-Identifier: Apache-2.0
#include "models/decoder_shape.h"

#include <cmath>

#include "base/require.h"

namespace twill {
namespace {

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

ModelConfig resolved_decoder(ModelConfig config, std::int64_t tokenizer_vocab) {
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

std::int64_t decoder_parameters(const ModelConfig& c) {
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
