// SPDX-License-Identifier: Apache-2.0
// The blocks that a config describes.
#pragma once

#include <cstdint>

#include "models/model_config.h"
#include "nn/block.h"

namespace twill {

Norm::Options norm_options(const ModelConfig& config);

// Dropout streams: 0 behind the embedding, then two per block.
Block::Options block_options(const ModelConfig& config, std::int64_t layer);

}  // namespace twill
