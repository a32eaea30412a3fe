// SPDX-License-Identifier: Apache-2.0
// The files of a checkpoint and what their metadata are called. Private to train/run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/folder.h"
#include "io/tensors/safetensors.h"

namespace twill {

inline constexpr std::string_view kModelFile = "model.safetensors";
inline constexpr std::string_view kStateFile = "state.safetensors";
inline constexpr std::string_view kSparsityFile = "sparsity.safetensors";
inline constexpr std::string_view kRunFile = "run.safetensors";
// The files of a checkpoint carry the same hash of the weights, so that files of different
// checkpoints cannot be mixed unnoticed.
inline constexpr const char* kWeightsKey = "twill.weights";
inline constexpr const char* kStepKey = "twill.step";

// A checkpoint may be named by its model file alone: the others then lie beside it.
std::string file_in(const std::string& checkpoint, std::string_view name);

// Both throw, naming the file.
std::string metadata_at(const SafetensorsFile& file, const std::string& key);
std::int64_t number_at(const SafetensorsFile& file, const std::string& key);

// Writes a checkpoint's files with `write(folder)`; they appear whole or not at all. Returns the path.
std::string publish_checkpoint(const Folder& folder, std::int64_t step,
                               const std::function<void(const Folder&)>& write);

// All but the newest `keep`.
void remove_old_checkpoints(const Folder& folder, std::int64_t keep);

}  // namespace twill
