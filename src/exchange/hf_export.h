// SPDX-License-Identifier: Apache-2.0
// Writes a model as a folder that Hugging Face transformers loads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "models/model_config.h"
#include "nn/builder.h"

namespace twill {

struct HfExportOptions {
  std::string folder;
  DType dtype = DType::kF32;                     // or kBf16, rounded to nearest even
  std::int64_t max_shard_bytes = 5'000'000'000;  // larger models become several files
};

struct WrittenFile {
  std::string name;
  std::int64_t bytes = 0;
};

// Throws when the folder holds something that is not a former export of ours, or when Hugging
// Face's class cannot express the model. Call it before the weights are loaded.
void require_exportable(const ModelConfig& config, const HfExportOptions& options);

// The folder appears whole or not at all; a former export is replaced. Beside the model in memory
// it needs room for one tensor. Without a tokenizer (nullptr) its files are left out.
std::vector<WrittenFile> export_hf(Builder& builder, const ModelConfig& config,
                                   const Tokenizer* tokenizer, const HfExportOptions& options);
inline std::vector<WrittenFile> export_hf(Builder& builder, const ModelConfig& config,
                                          const Tokenizer& tokenizer,
                                          const HfExportOptions& options) {
  return export_hf(builder, config, &tokenizer, options);
}

}  // namespace twill
