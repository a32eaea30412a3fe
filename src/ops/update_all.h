// SPDX-License-Identifier: Apache-2.0
// The end of a step over all parameters of a model at once, without asking the host: the global norm
// of the gradients, then clipping and AdamW (ops/adamw.h) in one call. For backends whose memory the
// host does not see; the others take sum_squares and adamw tensor by tensor.
//
//   table    (update_table_bytes(n)) u8: what the backend keeps about the tensors; filled once by
//            prepare_update(), valid while the tensors stay where they are
//   norm2    (1) f64: Σ grad² over all tensors, as sum_squares (order fixed per backend and shapes)
//   scalars  (kUpdateScalars) f64, read when the work runs, so that a recorded step can be replayed:
//            lr, 1 - beta1^step, 1 - beta2^step, loss; the place behind them is not read
//
// adamw_all: grad_scale = clip > 0 and sqrt(norm2) > clip ? clip / sqrt(norm2) : 1, in f64; then per
// tensor as adamw with lr · lr_scale. Where loss or norm2 is not finite nothing changes.
#pragma once

#include <span>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct UpdateTensor {
  View weight;  // f32, like grad, m and v
  ConstView grad;
  View m;
  View v;
  View operand = {};  // bf16, optional
  double lr_scale = 1.0;
  double weight_decay = 0.0;
};

// kNorm2 has a place among them so that loss and norm can be read together.
enum UpdateScalar : int { kLr, kCorrection1, kCorrection2, kLoss, kNorm2, kUpdateScalars };

struct PrepareUpdateArgs {
  std::span<const UpdateTensor> tensors;
  View table;
};

struct NormAllArgs {
  std::span<const UpdateTensor> tensors;
  ConstView table;
  View norm2;
  View partials;  // (kNormPartials) f64: workspace
};

struct AdamwAllArgs {
  std::span<const UpdateTensor> tensors;
  ConstView table;
  ConstView norm2;
  ConstView scalars;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double clip = 0.0;
};

inline constexpr std::int64_t kNormPartials = 4096;

constexpr std::int64_t update_table_bytes(std::int64_t num_tensors) { return 64 * num_tensors; }

void prepare_update(const Context& context, const PrepareUpdateArgs& args);
void norm_all(const Context& context, const NormAllArgs& args);
void adamw_all(const Context& context, const AdamwAllArgs& args);

}  // namespace twill
