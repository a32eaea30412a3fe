// SPDX-License-Identifier: Apache-2.0
#include "models/decoder.h"
#include "models/model.h"

namespace twill {

// GPT-2 and LLaMA are one class with different configs.
std::unique_ptr<Model> make_model(Builder& builder, const ModelConfig& config) {
  return std::make_unique<Decoder>(builder, config);
}

}  // namespace twill
