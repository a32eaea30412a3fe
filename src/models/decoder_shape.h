// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder: what zeros of its config stand for, and how large it is.
#pragma once

#include <cstdint>

#include "models/model_config.h"

namespace twill {

// resolved() and num_parameters() of the families that are decoders.
ModelConfig resolved_decoder(ModelConfig config, std::int64_t tokenizer_vocab);
std::int64_t decoder_parameters(const ModelConfig& config);

}  // namespace twill
