// SPDX-License-Identifier: Apache-2.0
// What `twill verify` says about one tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exchange/sparsity_patterns.h"
#include "io/json/json_value.h"
#include "io/tensors/safetensors.h"

namespace twill {

struct TensorReport {
  std::string name;
  std::string dtype;
  Shape shape;
  bool read = false;  // false: a dtype that is not floating, or that we do not read
  std::int64_t nonzeros = 0;
  std::int64_t non_finite = 0;
  InputAxis input = InputAxis::kUnknown;
  std::optional<MatrixPatterns> matrix;  // of two axes
  // The same weight as evaluation, sampling and export take it, where a run projects it.
  std::optional<MatrixPatterns> deployed = {};
};

// Reads the tensor's values.
TensorReport examine(const SafetensorsFile& file, const TensorInfo& info);

JsonValue to_json_value(const TensorReport& report);

}  // namespace twill
