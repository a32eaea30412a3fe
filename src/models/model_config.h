// SPDX-License-Identifier: Apache-2.0
// The shape of a model, each field declared once. What it means is the family's (models/families.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/fields.h"
#include "ops/layers/activation.h"

namespace twill {

struct FfnConfig {
  std::string activation = "gelu-tanh";
  std::int64_t width = 0;

  void fields(FieldVisitor& visit);
  Activation kind() const;
};

struct InitConfig {
  double std = 0.02;
  double residual_scale = 0.0;

  void fields(FieldVisitor& visit);
};

// The defaults are those of the preset "tiny".
struct ModelConfig {
  std::string name = "tiny";
  std::string family = "gpt";
  std::int64_t layers = 4;
  std::int64_t width = 192;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 0;
  std::int64_t context = 128;
  std::int64_t vocab = 0;
  std::string norm = "layer";
  double norm_eps = 1e-5;
  std::string positions = "learned";
  double rotary_theta = 10000.0;
  bool bias = true;
  bool tied_head = true;
  double dropout = 0.0;
  FfnConfig ffn;
  InitConfig init;

  void fields(FieldVisitor& visit);
};

// Replaces the zeros that mean "derive it" (kv_heads, ffn.width, vocab, residual_scale) and checks
// what no single range can (width % heads, …). `tokenizer_vocab` is used when the model names no
// vocabulary: padded to a multiple of 64.
ModelConfig resolved(ModelConfig config, std::int64_t tokenizer_vocab);

// Learnable numbers of a resolved config.
std::int64_t num_parameters(const ModelConfig& config);
// Tokens of an example at most.
std::int64_t longest_sequence(const ModelConfig& config);

}  // namespace twill
