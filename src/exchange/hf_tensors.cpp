// SPDX-License-Identifier: Apache-2.0
#include "exchange/hf_tensors.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/check.h"

namespace twill {
namespace {

// Sizes that shapes are made of.
enum class Size { kOne, kVocab, kContext, kWidth, kFfn, kQuery, kKey, kQkv };

std::int64_t value_of(Size size, const ModelConfig& c) {
  const std::int64_t head = c.width / c.heads;
  switch (size) {
    case Size::kOne:
      return 1;
    case Size::kVocab:
      return c.vocab;
    case Size::kContext:
      return c.context;
    case Size::kWidth:
      return c.width;
    case Size::kFfn:
      return c.ffn.width;
    case Size::kQuery:
      return c.heads * head;
    case Size::kKey:
      return c.kv_heads * head;
    case Size::kQkv:
      return (c.heads + 2 * c.kv_heads) * head;
  }
  return 0;
}

enum class Kind {
  kMatrix,  // (out, in), as ours
  kConv1d,  // (in, out): GPT-2 writes its matrices so
  kVector,
  kBias,  // a vector that a model without biases lacks
};

struct Rule {
  std::string_view theirs;
  std::string_view ours;
  Kind kind;
  Size out;
  Size in = Size::kOne;
  // Rows of ours in front of it: the sum of these.
  std::array<Size, 2> behind = {};
  int num_behind = 0;
};

struct Family {
  std::string_view prefix;
  std::string_view layer;  // of the names inside block N: layer + N + "."
  std::span<const Rule> front, block, back;
};

constexpr Rule kGptFront[] = {
    {"wte.weight", "embedding.tokens.weight", Kind::kMatrix, Size::kVocab, Size::kWidth},
    {"wpe.weight", "embedding.positions.weight", Kind::kMatrix, Size::kContext, Size::kWidth},
};
constexpr Rule kGptBlock[] = {
    {"ln_1.weight", "attention_norm.weight", Kind::kVector, Size::kWidth},
    {"ln_1.bias", "attention_norm.bias", Kind::kBias, Size::kWidth},
    {"attn.c_attn.weight", "attention.qkv.weight", Kind::kConv1d, Size::kQkv, Size::kWidth},
    {"attn.c_attn.bias", "attention.qkv.bias", Kind::kBias, Size::kQkv},
    {"attn.c_proj.weight", "attention.output.weight", Kind::kConv1d, Size::kWidth, Size::kQuery},
    {"attn.c_proj.bias", "attention.output.bias", Kind::kBias, Size::kWidth},
    {"ln_2.weight", "ffn_norm.weight", Kind::kVector, Size::kWidth},
    {"ln_2.bias", "ffn_norm.bias", Kind::kBias, Size::kWidth},
    {"mlp.c_fc.weight", "ffn.input.weight", Kind::kConv1d, Size::kFfn, Size::kWidth},
    {"mlp.c_fc.bias", "ffn.input.bias", Kind::kBias, Size::kFfn},
    {"mlp.c_proj.weight", "ffn.output.weight", Kind::kConv1d, Size::kWidth, Size::kFfn},
    {"mlp.c_proj.bias", "ffn.output.bias", Kind::kBias, Size::kWidth},
};
constexpr Rule kGptBack[] = {
    {"ln_f.weight", "final_norm.weight", Kind::kVector, Size::kWidth},
    {"ln_f.bias", "final_norm.bias", Kind::kBias, Size::kWidth},
};

constexpr Rule kLlamaFront[] = {
    {"embed_tokens.weight", "embedding.tokens.weight", Kind::kMatrix, Size::kVocab, Size::kWidth},
};
// Ours joins q, k, v into one matrix, and up and gate into another: [value | gate] of
// ops/layers/activation.h, where the gate is the half that passes through the non-linearity.
constexpr Rule kLlamaBlock[] = {
    {"input_layernorm.weight", "attention_norm.weight", Kind::kVector, Size::kWidth},
    {"self_attn.q_proj.weight", "attention.qkv.weight", Kind::kMatrix, Size::kQuery, Size::kWidth},
    {"self_attn.k_proj.weight",
     "attention.qkv.weight",
     Kind::kMatrix,
     Size::kKey,
     Size::kWidth,
     {Size::kQuery},
     1},
    {"self_attn.v_proj.weight",
     "attention.qkv.weight",
     Kind::kMatrix,
     Size::kKey,
     Size::kWidth,
     {Size::kQuery, Size::kKey},
     2},
    {"self_attn.o_proj.weight", "attention.output.weight", Kind::kMatrix, Size::kWidth,
     Size::kQuery},
    {"post_attention_layernorm.weight", "ffn_norm.weight", Kind::kVector, Size::kWidth},
    {"mlp.gate_proj.weight",
     "ffn.input.weight",
     Kind::kMatrix,
     Size::kFfn,
     Size::kWidth,
     {Size::kFfn},
     1},
    {"mlp.up_proj.weight", "ffn.input.weight", Kind::kMatrix, Size::kFfn, Size::kWidth},
    {"mlp.down_proj.weight", "ffn.output.weight", Kind::kMatrix, Size::kWidth, Size::kFfn},
};
constexpr Rule kLlamaBack[] = {
    {"norm.weight", "final_norm.weight", Kind::kVector, Size::kWidth},
};
constexpr Rule kHead = {"lm_head.weight", "head.weight", Kind::kMatrix, Size::kVocab, Size::kWidth};

constexpr Family kGpt{"transformer.", "h.", kGptFront, kGptBlock, kGptBack};
constexpr Family kLlama{"model.", "layers.", kLlamaFront, kLlamaBlock, kLlamaBack};

HfTensor tensor_of(const Rule& rule, const ModelConfig& config, const std::string& their_prefix,
                   const std::string& our_prefix) {
  HfTensor tensor{.name = their_prefix + std::string(rule.theirs), .placement = {}};
  Placement& placement = tensor.placement;
  placement.transposed = rule.kind == Kind::kConv1d;
  const std::int64_t out = value_of(rule.out, config), in = value_of(rule.in, config);
  if (rule.kind == Kind::kVector || rule.kind == Kind::kBias) {
    placement.shape = {out};
  } else {
    placement.shape = placement.transposed ? Shape{in, out} : Shape{out, in};
  }
  for (int i = 0; i < rule.num_behind; ++i)
    placement.first_row += value_of(rule.behind[static_cast<std::size_t>(i)], config);
  if (rule.kind != Kind::kBias || config.bias)
    placement.parameter = our_prefix + std::string(rule.ours);
  return tensor;
}

}  // namespace

std::vector<HfTensor> hf_tensors(const ModelConfig& config) {
  const Family& family = config.family == "llama" ? kLlama : kGpt;
  const std::string prefix(family.prefix);
  std::vector<HfTensor> tensors;
  const auto add = [&](std::span<const Rule> rules, const std::string& theirs,
                       const std::string& ours) {
    for (const Rule& rule : rules) tensors.push_back(tensor_of(rule, config, theirs, ours));
  };
  add(family.front, prefix, "");
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string number = std::to_string(layer);
    add(family.block, fmt::format("{}{}{}.", prefix, family.layer, number),
        fmt::format("blocks.{}.", number));
  }
  add(family.back, prefix, "");
  if (!config.tied_head) add(std::span(&kHead, 1), "", "");
  return tensors;
}

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {kGpt.prefix, kLlama.prefix})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

bool is_buffer(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq");
}

InputAxis input_axis(std::string_view name) {
  const auto ends_with = [&](const Rule& rule, std::string_view part) {
    return name == part || (name.size() > part.size() && name.ends_with(part) &&
                            name[name.size() - part.size() - 1] == '.' && rule.in != Size::kOne);
  };
  if (ends_with(kHead, kHead.theirs) || ends_with(kHead, kHead.ours)) return InputAxis::kColumns;
  for (const std::span<const Rule> rules : {kGpt.block, kLlama.block}) {
    for (const Rule& rule : rules) {
      if (rule.in == Size::kOne) continue;
      if (ends_with(rule, rule.ours)) return InputAxis::kColumns;
      if (ends_with(rule, rule.theirs))
        return rule.kind == Kind::kConv1d ? InputAxis::kRows : InputAxis::kColumns;
    }
  }
  return InputAxis::kUnknown;
}

}  // namespace twill
