// SPDX-License-Identifier: Apache-2.0
// Where a tensor of another program lies inside one of our parameters, and how its numbers are
// ordered there. One description serves both directions.
#pragma once

#include <cstdint>
#include <string>

#include "nn/builder.h"
#include "tensor/view.h"

namespace twill {

struct Placement {
  std::string parameter;       // "blocks.0.attention.qkv.weight"; empty: we have none, it is zero
  Shape shape;                 // as the other program writes it, one or two axes
  std::int64_t first_row = 0;  // of the parameter, where the tensor begins
  bool transposed = false;     // the other program writes (in, out)
  // 0, or the width of the heads when the file has rotary partners in neighbouring rows (2i, 2i+1);
  // ours, and Hugging Face's, are half a head apart (i, i + D/2).
  std::int64_t pair_rows_of = 0;

  // Rows it takes in the parameter.
  std::int64_t rows() const { return shape[transposed ? 1 : 0]; }
};

// Copies f32 numbers of the other program into the parameter.
void place(const float* values, const Placement& placement, View parameter);

// And out of it. Plain rows are not copied: the view is then the parameter's own memory. Otherwise
// it is `scratch`, which has room for the tensor.
ConstView take(const Placement& placement, ConstView parameter, float* scratch);

// The parameter of this name, which must exist.
Parameter& parameter_named(Builder& builder, const std::string& name);

}  // namespace twill
