// SPDX-License-Identifier: Apache-2.0
// Models small enough to check number by number, one for every part a decoder can have.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "models/model_config.h"

namespace twill {

struct NamedModel {
  std::string name;
  ModelConfig config;  // resolved

  friend std::ostream& operator<<(std::ostream& out, const NamedModel& model) {
    return out << model.name;
  }
};

inline ModelConfig tiny_gpt() {
  ModelConfig config;
  config.layers = 2;
  config.width = 8;
  config.heads = 2;
  config.context = 5;
  config.vocab = 11;
  config.init.std = 0.3;  // larger than usual, so that every path carries weight
  return config;
}

inline ModelConfig tiny_llama() {
  ModelConfig config = tiny_gpt();
  config.family = "llama";
  config.norm = "rms";
  config.positions = "rotary";
  config.bias = false;
  config.tied_head = false;
  config.heads = 4;
  config.kv_heads = 2;
  config.ffn.activation = "swiglu";
  config.ffn.width = 12;
  return config;
}

inline std::vector<NamedModel> tiny_models() {
  std::vector<NamedModel> models{{"gpt", tiny_gpt()}, {"llama", tiny_llama()}};
  models.push_back({"gpt_erf_dropout", tiny_gpt()});
  models.back().config.ffn.activation = "gelu";
  models.back().config.dropout = 0.25;
  models.push_back({"gpt_untied_no_bias", tiny_gpt()});
  models.back().config.tied_head = false;
  models.back().config.bias = false;
  models.push_back({"llama_geglu_one_kv_head", tiny_llama()});
  models.back().config.kv_heads = 1;
  models.back().config.ffn.activation = "geglu";
  models.push_back({"gpt_relu2_rotary", tiny_gpt()});
  models.back().config.ffn.activation = "relu2";
  models.back().config.positions = "rotary";
  for (NamedModel& model : models) model.config = resolved(model.config, model.config.vocab);
  return models;
}

}  // namespace twill
