// SPDX-License-Identifier: Apache-2.0
// The families of models that there are. A family is one line in families.cpp; everybody else asks
// here by config.family.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/fields.h"
#include "models/model.h"
#include "models/model_config.h"

namespace twill {

struct ModelFamily {
  std::string_view name;  // a word of model.family
  std::string_view data;  // the kind of data that it reads (data/open_data.h)
  std::unique_ptr<Model> (*make)(Builder& builder, const ModelConfig& config);
  // resolved() and num_parameters() of models/model_config.h.
  ModelConfig (*resolve)(ModelConfig config, std::int64_t tokenizer_vocab);
  std::int64_t (*num_parameters)(const ModelConfig& config);
  // Tokens of an example at most.
  std::int64_t (*longest_sequence)(const ModelConfig& config);
};

// Throws twill::Error for a family that nobody knows.
const ModelFamily& find_family(std::string_view name);
Choices family_names();

// A family that a program brings along, before it reads a config. One of the same name takes its place.
void add_family(const ModelFamily& family);

}  // namespace twill
