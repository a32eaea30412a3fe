// SPDX-License-Identifier: Apache-2.0
// config.json of Hugging Face's GPT-2 and LLaMA, to and from our model config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/json/json_value.h"
#include "models/model_config.h"

namespace twill {

// The text of a config.json. Throws twill::Error, without a path, on anything that this decoder
// would compute differently: nothing is passed over that changes a logit. The result is resolved.
ModelConfig parse_hf_config(std::string_view json);

// Ids that begin and end a text, where the tokenizer has them.
struct TextEnds {
  std::optional<std::int32_t> begin;
  std::optional<std::int32_t> end;
};

// Throws when Hugging Face's class cannot express the model, naming the key of ours.
void require_expressible(const ModelConfig& config);

// Read alike by transformers 4 (torch_dtype, rope_theta) and 5 (dtype, rope_parameters).
// `dtype` is "float32" or "bfloat16".
JsonValue hf_config(const ModelConfig& config, const std::string& dtype, const TextEnds& ends);
JsonValue hf_generation_config(const TextEnds& ends);

// The key of config.json by which we know our own exports.
inline constexpr std::string_view kTwillVersionKey = "twill_version";

}  // namespace twill
