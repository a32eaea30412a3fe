// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file. Private to io.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensors/safetensors.h"

namespace twill {

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorInfo> tensors;  // in the order of their bytes; offsets from the first data byte
};

// Believes nothing: types, duplicates, overflow, and that the tensors fill [0, data_bytes) without
// overlap or hole. Throws twill::Error without the file's name.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::int64_t data_bytes);

// The word of the format for a dtype: "F32".
std::string_view safetensors_name(DType dtype);

// "1,234,567".
std::string with_commas(std::int64_t number);

}  // namespace twill
