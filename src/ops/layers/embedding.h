// SPDX-License-Identifier: Apache-2.0
// Rows of a table chosen by token, plus a learned position:
//
//   out[b, t] = token_table[tokens[b, t]] [+ position_table[first_position + t]]
//
//   tokens          (B, T) i32, each in [0, V)   checked by the loader, not by kernels
//   token_table     (V, C)
//   position_table  (P, C) optional, P >= first_position + T
//   out             (B, T, C)
//
// Types: tables and out f32 or bf16; gradients of tables f32 (beside f64: f64). Forward is one f32
// addition per element (rounded to out's type): bit-identical on every backend.
// Backward (first_position 0) adds dout into dtoken_table and dposition_table (both keep what they
// held), per table row in ascending (b, t): deterministic, error at most (n + 1) eps Σ|n terms|.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct EmbeddingForwardArgs {
  ConstView tokens;
  ConstView token_table;
  ConstView position_table = {};
  View out;
  std::int64_t first_position = 0;  // from 0 on
};

struct EmbeddingBackwardArgs {
  ConstView tokens;
  ConstView dout;
  View dtoken_table;
  View dposition_table = {};
};

void validate(const EmbeddingForwardArgs& args);
void validate(const EmbeddingBackwardArgs& args);
void embedding_forward(const Context& context, const EmbeddingForwardArgs& args);
void embedding_backward(const Context& context, const EmbeddingBackwardArgs& args);

}  // namespace twill
