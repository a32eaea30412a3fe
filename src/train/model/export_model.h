// SPDX-License-Identifier: Apache-2.0
// From a model, wherever it lies, to a folder that Hugging Face transformers loads.
#pragma once

#include <vector>

#include "data/tokenizer.h"
#include "exchange/hf_export.h"
#include "exchange/model_source.h"

namespace twill {

// Builds the model on the host in f32, loads its weights and writes them. What cannot be exported is
// refused before weights are read. Without a tokenizer (nullptr) its files are left out.
std::vector<WrittenFile> export_model(const ModelSource& source, const Tokenizer* tokenizer,
                                      const HfExportOptions& options);

}  // namespace twill
