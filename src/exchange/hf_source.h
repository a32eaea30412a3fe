// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "exchange/model_source.h"

namespace twill {

// A folder with config.json and model.safetensors, whole or sharded.
std::unique_ptr<ModelSource> open_hf_folder(const std::string& folder);

// One .safetensors file, with NAME.config.json or config.json beside it.
std::unique_ptr<ModelSource> open_hf_file(const std::string& file);

// How to go on from a pickled file, which Twill does not read: it may run code when opened.
[[noreturn]] void refuse_pickle(const std::string& path);

}  // namespace twill
