// SPDX-License-Identifier: Apache-2.0
// A model that lies on disk, of any origin: what it is, and its weights on demand.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "models/model_config.h"
#include "nn/builder.h"

namespace twill {

class ModelSource {
 public:
  virtual ~ModelSource() = default;

  virtual const std::string& path() const = 0;
  // For people: "Hugging Face", "llm.c", "llama2.c", "Twill".
  virtual std::string_view format() const = 0;
  // How the weights are stored: "F32", or "BF16 and F32" when mixed.
  virtual std::string dtype() const = 0;
  // Resolved.
  virtual const ModelConfig& config() const = 0;
  // Fills every parameter of a committed model of this config, built in f32.
  virtual void load(Builder& builder) const = 0;
};

// A Hugging Face folder, a .safetensors file with its config beside it, or a .bin file of llm.c or
// llama2.c. Everything that the headers say is checked against the sizes of the files here; only
// load() reads weights. Throws twill::Error with the path first.
std::unique_ptr<ModelSource> open_model_source(const std::string& path);

}  // namespace twill
