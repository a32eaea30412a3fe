// SPDX-License-Identifier: Apache-2.0
#include "exchange/hf_config.h"

#include <gtest/gtest.h>

#include "io/config/toml_config.h"
#include "models/tiny_models.h"
#include "support/expect_error.h"

namespace twill {
namespace {

constexpr std::string_view kGpt2 =
    R"("model_type":"gpt2","vocab_size":50257,"n_positions":1024,"n_embd":768,"n_layer":12,"n_head":12)";
constexpr std::string_view kLlama =
    R"("model_type":"llama","vocab_size":512,"hidden_size":64,"intermediate_size":172,)"
    R"("num_hidden_layers":5,"num_attention_heads":8)";

ModelConfig parse(std::string_view base, std::string_view more = "") {
  return parse_hf_config("{" + std::string(base) + std::string(more) + "}");
}

TEST(HfConfig, ReadsGpt2AsPublished) {
  const ModelConfig config = parse(kGpt2, R"(,"n_inner":null,"activation_function":"gelu_new")");
  EXPECT_EQ(config.family, "gpt");
  EXPECT_EQ(config.width, 768);
  EXPECT_EQ(config.ffn.width, 3072);
  EXPECT_EQ(config.ffn.activation, "gelu-tanh");
  EXPECT_EQ(config.context, 1024);
  EXPECT_EQ(config.vocab, 50257);
  EXPECT_EQ(config.norm_eps, 1e-5);
  EXPECT_TRUE(config.tied_head);
  EXPECT_EQ(num_parameters(config), 124'439'808);
}

TEST(HfConfig, ReadsLlamaOfBothVersions) {
  const ModelConfig old = parse(kLlama, R"(,"rope_theta":5e5,"num_key_value_heads":4)");
  EXPECT_EQ(old.rotary_theta, 5e5);
  EXPECT_EQ(old.kv_heads, 4);
  EXPECT_EQ(old.norm_eps, 1e-6);
  EXPECT_FALSE(old.tied_head);
  EXPECT_FALSE(old.bias);
  const ModelConfig fresh =
      parse(kLlama, R"(,"rope_parameters":{"rope_theta":5e5,"rope_type":"default"},"head_dim":8)");
  EXPECT_EQ(fresh.rotary_theta, 5e5);
  EXPECT_EQ(fresh.kv_heads, 8);
  EXPECT_EQ(parse(kLlama, R"(,"hidden_act":"gelu")").ffn.activation, "geglu");
  EXPECT_EQ(parse(kLlama, R"(,"hidden_act":"gelu_new")").ffn.activation, "geglu-tanh");
  EXPECT_EQ(parse(kLlama, R"(,"hidden_act":"gelu_pytorch_tanh")").ffn.activation, "geglu-tanh");
}

// What is written is read back, for every model that can be written.
TEST(HfConfig, RoundTrip) {
  for (NamedModel model : tiny_models()) {
    if (model.config.positions == "rotary" && model.config.family == "gpt") continue;
    const JsonValue json = hf_config(model.config, "float32", {});
    ModelConfig back = parse_hf_config(to_json(json));
    model.config.bias = model.config.family == "gpt";  // GPT-2 without biases has zeros there
    model.config.dropout = 0.0;                        // weights know no dropout
    model.config.init = back.init;
    for (const FieldDifference& difference : differences(model.config, back))
      ADD_FAILURE() << model.name << ": " << difference.key << " " << difference.saved << " became "
                    << difference.wanted;
  }
}

TEST(HfConfig, WritesWhatBothVersionsOfTransformersRead) {
  const ModelConfig config = resolved(tiny_llama(), 11);
  const JsonValue json = hf_config(config, "bfloat16", {.begin = 1, .end = 2});
  EXPECT_EQ(*json.find("dtype"), JsonValue("bfloat16"));
  EXPECT_EQ(*json.find("torch_dtype"), JsonValue("bfloat16"));
  EXPECT_EQ(*json.find("rope_theta"), JsonValue(10000.0));
  EXPECT_EQ(*json.find("rope_parameters")->find("rope_theta"), JsonValue(10000.0));
  EXPECT_EQ(*json.find("bos_token_id"), JsonValue(1));
  EXPECT_EQ(*hf_generation_config({.begin = 1, .end = 2}).find("eos_token_id"), JsonValue(2));
  // The classes' own defaults are ids of other tokenizers.
  EXPECT_TRUE(hf_config(config, "float32", {}).find("eos_token_id")->is_null());
}

struct Refusal {
  std::string_view base;
  std::string_view more;
  std::string_view text;
};

TEST(HfConfig, RefusesWhatItWouldComputeDifferently) {
  const Refusal refusals[] = {
      {kGpt2, R"(,"activation_function":"relu")",
       "activation_function = \"relu\" is not an activation Twill has, expected one of gelu_new"},
      {kGpt2, R"(,"scale_attn_weights":false)",
       "scale_attn_weights = false: Twill computes scale_attn_weights = true only"},
      {kGpt2, R"(,"scale_attn_by_inverse_layer_idx":true)",
       "scale_attn_by_inverse_layer_idx = true"},
      {kGpt2, R"(,"add_cross_attention":true)", "add_cross_attention = true"},
      {kGpt2, R"(,"quantization_config":{})", "quantization_config: the weights are quantised"},
      {kGpt2, R"(,"tie_word_embeddings":1)",
       "tie_word_embeddings is a number, expected true or false"},
      {kGpt2, R"(,"layer_norm_epsilon":"x")", "layer_norm_epsilon is text, expected a number"},
      {kGpt2, R"(,"layer_norm_epsilon":7)", "layer_norm_epsilon = 7, expected 0 to 1"},
      {kGpt2, R"(,"n_inner":99999999999)", "n_inner = 99999999999, expected 1 to 1048576"},
      {kLlama, R"(,"attention_bias":true)", "attention_bias = true"},
      {kLlama, R"(,"mlp_bias":true)", "mlp_bias = true"},
      {kLlama, R"(,"rope_scaling":{"type":"linear","factor":2.0})",
       "rope_scaling is of type \"linear\": Twill has plain rotary positions only"},
      {kLlama, R"(,"rope_parameters":{"rope_type":"llama3"})",
       "rope_parameters is of type \"llama3\""},
      {kLlama, R"(,"rope_parameters":{"partial_rotary_factor":0.5})",
       "rope_parameters.partial_rotary_factor = 0.5, expected 1"},
      {kLlama, R"(,"rope_parameters":[])", "rope_parameters is a list, expected an object"},
      {kLlama, R"(,"head_dim":16)",
       "head_dim = 16, expected hidden_size / num_attention_heads = 8"},
      {kLlama, R"(,"num_key_value_heads":3)", "must be a multiple of model.kv_heads = 3"},
      {kLlama, R"(,"hidden_act":"relu")", "hidden_act = \"relu\""},
      {R"("model_type":"bert")", "", "model_type = \"bert\" is not a model Twill has"},
      {R"("model_type":7)", "", "model_type is a number, expected text"},
      {"", "", "no model_type"},
      {R"("model_type":"gpt2")", "", "no n_embd"},
      {R"("model_type":"gpt2","n_embd":0.5)", "", "n_embd is a number, expected an integer"},
      {R"("model_type":"gpt2","n_embd":-1)", "", "n_embd = -1, expected 1 to 65536"},
  };
  for (const Refusal& refusal : refusals)
    expect_error([&] { parse(refusal.base, refusal.more); }, refusal.text);
  expect_error([] { parse_hf_config("[]"); }, "the document is a list, expected an object");
  expect_error([] { parse_hf_config("{"); }, "JSON");
}

TEST(HfConfig, RefusesToWriteWhatTheClassCannotExpress) {
  const auto refuse = [](ModelConfig config, const auto& change, std::string_view text) {
    change(config);
    expect_error([&] { require_expressible(resolved(config, config.vocab)); }, text);
  };
  refuse(
      tiny_llama(), [](ModelConfig& c) { c.norm = "layer"; },
      "model.norm = layer cannot be exported: LlamaForCausalLM has RMSNorm only");
  refuse(
      tiny_llama(), [](ModelConfig& c) { c.positions = "learned"; },
      "model.positions = learned cannot be exported: LlamaForCausalLM has rotary positions only");
  refuse(
      tiny_llama(), [](ModelConfig& c) { c.bias = true; }, "model.bias = true cannot be exported");
  refuse(
      tiny_llama(), [](ModelConfig& c) { c.ffn.activation = "gelu"; },
      "model.ffn.activation = \"gelu\" cannot be exported: LlamaForCausalLM has no such layer");
  refuse(
      tiny_gpt(), [](ModelConfig& c) { c.norm = "rms"; }, "GPT2LMHeadModel has LayerNorm only");
  refuse(
      tiny_gpt(), [](ModelConfig& c) { c.positions = "rotary"; },
      "GPT2LMHeadModel has learned positions only");
  refuse(
      tiny_gpt(), [](ModelConfig& c) { c.kv_heads = 1; },
      "model.kv_heads = 1 cannot be exported: GPT2LMHeadModel has one key head per query head");
  refuse(
      tiny_gpt(), [](ModelConfig& c) { c.ffn.activation = "swiglu"; },
      "model.ffn.activation = \"swiglu\" cannot be exported");
}

}  // namespace
}  // namespace twill
