// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/view.h"

namespace twill::cpu {

// The data of an f32 operand; nullptr when an optional one is absent.
inline const float* data_of(const ConstView& view) { return view ? view.as<float>() : nullptr; }
inline float* data_of(const View& view) { return view ? view.as<float>() : nullptr; }

}  // namespace twill::cpu
