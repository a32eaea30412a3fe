// SPDX-License-Identifier: Apache-2.0
#include "exchange/hf_config.h"

#include <array>
#include <span>

#include "base/require.h"
#include "exchange/hf_json.h"
#include "twill/version.h"

namespace twill {
namespace {

struct ActivationName {
  std::string_view theirs;
  std::string_view ours;
};

// The first line of one of ours is the one written. The spellings of tanh-GELU differ in rounding
// alone.
constexpr std::array<ActivationName, 5> kGptActivations{{{"gelu_new", "gelu-tanh"},
                                                         {"gelu_pytorch_tanh", "gelu-tanh"},
                                                         {"gelu_fast", "gelu-tanh"},
                                                         {"gelu", "gelu"},
                                                         {"relu2", "relu2"}}};
constexpr std::array<ActivationName, 5> kLlamaActivations{{{"silu", "swiglu"},
                                                           {"swish", "swiglu"},
                                                           {"gelu", "geglu"},
                                                           {"gelu_pytorch_tanh", "geglu-tanh"},
                                                           {"gelu_new", "geglu-tanh"}}};

// Limits as those of model_config.cpp: a config read here is one that could have been written.
constexpr Range<std::int64_t> kLayerLimits{1, 1000}, kWidthLimits{1, 1 << 16}, kHeadLimits{1, 4096},
    kContextLimits{1, 1 << 24}, kVocabLimits{1, 1 << 22}, kFfnLimits{1, 1 << 20};
constexpr Range<double> kEpsLimits{0.0, 1.0}, kThetaLimits{1.0, 1e12};

std::string our_activation(std::span<const ActivationName> names, std::string_view key,
                           const std::string& theirs) {
  std::string known;
  for (const ActivationName& name : names) {
    if (name.theirs == theirs) return std::string(name.ours);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name.theirs);
  }
  fail("{} = \"{}\" is not an activation Twill has, expected one of {}", key, theirs, known);
}

ModelConfig read_gpt2(const HfObject& json) {
  json.require_boolean("scale_attn_weights", true);
  json.require_boolean("scale_attn_by_inverse_layer_idx", false);
  json.require_boolean("add_cross_attention", false);
  ModelConfig config;
  config.family = "gpt";
  config.width = json.integer("n_embd", kWidthLimits);
  config.layers = json.integer("n_layer", kLayerLimits);
  config.heads = json.integer("n_head", kHeadLimits);
  config.context = json.integer("n_positions", kContextLimits);
  config.vocab = json.integer("vocab_size", kVocabLimits);
  config.ffn.width = json.integer_or("n_inner", kFfnLimits, 4 * config.width);
  config.ffn.activation = our_activation(kGptActivations, "activation_function",
                                         json.text_or("activation_function", "gelu_new"));
  config.norm_eps = json.number_or("layer_norm_epsilon", kEpsLimits, 1e-5);
  config.tied_head = json.boolean_or("tie_word_embeddings", true);
  return config;
}

// transformers 5 has rope_parameters, 4 has rope_theta and rope_scaling.
double read_rope(const HfObject& json) {
  double theta = json.number_or("rope_theta", kThetaLimits, 10000.0);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const JsonValue* value = json.find(key);
    if (value == nullptr) continue;
    const HfObject rope(*value, key);
    const std::string kind = rope.text_or("rope_type", rope.text_or("type", "default"));
    require(kind == "default",
            "{} is of type \"{}\": Twill has plain rotary positions only, which would give other "
            "logits",
            key, kind);
    theta = rope.number_or("rope_theta", kThetaLimits, theta);
    const double partial = rope.number_or("partial_rotary_factor", {0.0, 1.0}, 1.0);
    require(partial == 1.0, "{}.partial_rotary_factor = {}, expected 1", key, partial);
  }
  return theta;
}

ModelConfig read_llama(const HfObject& json) {
  json.require_boolean("attention_bias", false);
  json.require_boolean("mlp_bias", false);
  ModelConfig config;
  config.family = "llama";
  config.norm = "rms";
  config.positions = "rotary";
  config.bias = false;
  config.width = json.integer("hidden_size", kWidthLimits);
  config.layers = json.integer("num_hidden_layers", kLayerLimits);
  config.heads = json.integer("num_attention_heads", kHeadLimits);
  config.kv_heads = json.integer_or("num_key_value_heads", kHeadLimits, config.heads);
  config.context = json.integer_or("max_position_embeddings", kContextLimits, 2048);
  config.vocab = json.integer("vocab_size", kVocabLimits);
  config.ffn.width = json.integer("intermediate_size", kFfnLimits);
  config.ffn.activation =
      our_activation(kLlamaActivations, "hidden_act", json.text_or("hidden_act", "silu"));
  config.norm_eps = json.number_or("rms_norm_eps", kEpsLimits, 1e-6);
  config.rotary_theta = read_rope(json);
  config.tied_head = json.boolean_or("tie_word_embeddings", false);
  const std::int64_t head = config.width / config.heads;
  const std::int64_t given = json.integer_or("head_dim", kWidthLimits, head);
  require(given == head, "head_dim = {}, expected hidden_size / num_attention_heads = {}", given,
          head);
  return config;
}

std::string their_activation(std::span<const ActivationName> names, const ModelConfig& config,
                             std::string_view class_name) {
  for (const ActivationName& name : names)
    if (name.ours == config.ffn.activation) return std::string(name.theirs);
  fail("model.ffn.activation = \"{}\" cannot be exported: {} has no such layer",
       config.ffn.activation, class_name);
}

void require_key(bool good, std::string_view key, std::string_view value, std::string_view why) {
  require(good, "model.{} = {} cannot be exported: {}", key, value, why);
}

void add_ends(JsonObject& json, const TextEnds& ends) {
  if (ends.begin) json.emplace_back("bos_token_id", std::int64_t{*ends.begin});
  if (ends.end) json.emplace_back("eos_token_id", std::int64_t{*ends.end});
}

JsonObject gpt2_keys(const ModelConfig& c) {
  return {{"architectures", JsonArray{"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", their_activation(kGptActivations, c, "GPT2LMHeadModel")},
          {"n_embd", c.width},
          {"n_layer", c.layers},
          {"n_head", c.heads},
          {"n_positions", c.context},
          {"n_ctx", c.context},
          {"n_inner", c.ffn.width},
          {"layer_norm_epsilon", c.norm_eps},
          {"embd_pdrop", c.dropout},
          {"resid_pdrop", c.dropout},
          {"attn_pdrop", 0.0}};
}

JsonObject llama_keys(const ModelConfig& c) {
  return {{"architectures", JsonArray{"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", their_activation(kLlamaActivations, c, "LlamaForCausalLM")},
          {"hidden_size", c.width},
          {"intermediate_size", c.ffn.width},
          {"num_hidden_layers", c.layers},
          {"num_attention_heads", c.heads},
          {"num_key_value_heads", c.kv_heads},
          {"max_position_embeddings", c.context},
          {"rms_norm_eps", c.norm_eps},
          {"rope_theta", c.rotary_theta},
          {"rope_parameters", JsonObject{{"rope_theta", c.rotary_theta}, {"rope_type", "default"}}},
          {"attention_bias", false},
          {"mlp_bias", false}};
}

}  // namespace

ModelConfig parse_hf_config(std::string_view text) {
  const JsonValue document = parse_json_value(text);
  const HfObject json(document, "");
  require(
      json.find("quantization_config") == nullptr,
      "quantization_config: the weights are quantised; Twill reads plain F32, F16, BF16 or F64");
  const std::string type = json.text("model_type");
  require(type == "gpt2" || type == "llama",
          "model_type = \"{}\" is not a model Twill has, expected gpt2 or llama", type);
  const ModelConfig config = type == "gpt2" ? read_gpt2(json) : read_llama(json);
  return resolved(config, config.vocab);
}

void require_expressible(const ModelConfig& c) {
  const bool llama = c.family == "llama";
  require_key(llama || c.family == "gpt", "family", c.family,
              "Twill writes models of the families gpt and llama");
  const char* name = llama ? "LlamaForCausalLM" : "GPT2LMHeadModel";
  const auto only = [&](const char* what) { return fmt::format("{} has {} only", name, what); };
  require_key(c.norm == (llama ? "rms" : "layer"), "norm", c.norm,
              only(llama ? "RMSNorm" : "LayerNorm"));
  require_key(c.positions == (llama ? "rotary" : "learned"), "positions", c.positions,
              only(llama ? "rotary positions" : "learned positions"));
  require_key(!llama || !c.bias, "bias", "true",
              "Twill's LLaMA has biases that Hugging Face's lacks");
  require_key(llama || c.kv_heads == c.heads, "kv_heads", std::to_string(c.kv_heads),
              only("one key head per query head"));
  if (llama)
    their_activation(kLlamaActivations, c, name);
  else
    their_activation(kGptActivations, c, name);
}

JsonValue hf_config(const ModelConfig& config, const std::string& dtype, const TextEnds& ends) {
  require_expressible(config);
  JsonObject json = config.family == "llama" ? llama_keys(config) : gpt2_keys(config);
  json.emplace_back("vocab_size", config.vocab);
  json.emplace_back("tie_word_embeddings", config.tied_head);
  json.emplace_back("initializer_range", config.init.std);
  json.emplace_back("use_cache", true);
  add_ends(json, ends);
  // Written even where there is none: the defaults of both classes are ids of other tokenizers.
  if (!ends.begin) json.emplace_back("bos_token_id", JsonValue());
  if (!ends.end) json.emplace_back("eos_token_id", JsonValue());
  json.emplace_back("dtype", dtype);
  json.emplace_back("torch_dtype", dtype);
  json.emplace_back(std::string(kTwillVersionKey), kVersion);
  return json;
}

JsonValue hf_generation_config(const TextEnds& ends) {
  JsonObject json{{"_from_model_config", true}};
  add_ends(json, ends);
  return json;
}

}  // namespace twill
