// SPDX-License-Identifier: Apache-2.0
// Names and layouts of Hugging Face's GPT2LMHeadModel and LlamaForCausalLM, as a table of rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exchange/placement.h"
#include "models/model_config.h"

namespace twill {

struct HfTensor {
  std::string name;  // with its prefix: "transformer.h.0.attn.c_attn.weight"
  Placement placement;
};

// Every tensor of a model of this (resolved) config, in the order of the file. A tied head is not
// among them. A GPT without biases has them all the same, as zeros: GPT2LMHeadModel knows no other.
std::vector<HfTensor> hf_tensors(const ModelConfig& config);

// The name without "transformer." or "model.", which some files leave out.
std::string_view without_prefix(std::string_view name);

// Buffers that older versions of transformers saved beside the weights (masks, frequencies).
bool is_buffer(std::string_view name);

// The axis that a product sums over, for a matrix whose name is known to us or to Hugging Face.
enum class InputAxis { kUnknown, kRows, kColumns };
InputAxis input_axis(std::string_view tensor_name);

}  // namespace twill
