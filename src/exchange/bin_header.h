// SPDX-License-Identifier: Apache-2.0
// Small pieces that the .bin headers share. Private to exchange.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/fields.h"
#include "base/require.h"
#include "exchange/bin_model.h"

namespace twill {

inline std::int32_t int32_at(std::string_view head, std::int64_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, head.data() + 4 * index, sizeof value);
  return value;
}

// Limits as those of model_config.cpp.
inline std::int64_t size_at(std::string_view head, std::int64_t index, std::string_view name,
                            std::int64_t highest) {
  const std::int64_t value = int32_at(head, index);
  require(value >= 1 && value <= highest, "header: {} = {}, expected 1 to {}", name, value,
          highest);
  return value;
}

inline constexpr std::int64_t kMaxLayers = 1000, kMaxWidth = 1 << 16, kMaxHeads = 4096,
                              kMaxContext = 1 << 24, kMaxVocab = 1 << 22, kMaxFfn = 1 << 20;

// The placements must fill the file behind the header to the byte.
inline void require_exact_size(const BinModel& model, std::int64_t file_bytes) {
  std::int64_t expected = model.first_byte;
  for (const Placement& tensor : model.tensors)
    expected += tensor.shape.num_elements() * size_of(model.numbers);
  require(expected == file_bytes, "the header describes a file of {} bytes, this one has {}",
          expected, file_bytes);
}

}  // namespace twill
