// SPDX-License-Identifier: Apache-2.0
// The end of a step over all parameters of a model at once, without asking the host: the global norm
// of the gradients, then clipping and AdamW (ops/update/adamw.h) in one call. For backends whose memory the
// host does not see, and the reference, which judges them; where memory is shared the trainer takes
// sum_squares and adamw tensor by tensor.
//
//   table    (update_table_bytes(n)) u8: what the backend keeps about the tensors; filled once by
//            prepare_update(), valid while the tensors stay where they are and their settings what
//            they are; what a mask holds may change
//   norm2    (1) f64: Σ grad² over all tensors, as sum_squares (order fixed per backend and shapes)
//   scalars  (kUpdateScalars) f64, read when the work runs, so that a recorded step can be replayed:
//            lr, 1 - beta1^step, 1 - beta2^step, step, loss; the place behind them is not read
//
// adamw_all: grad_scale = clip > 0 and sqrt(norm2) > clip ? clip / sqrt(norm2) : 1, in f64; then per
// tensor the bits of this backend's adamw with lr · lr_scale and its place among the tensors as the
// stream. Where a tensor has a mask, AdamW sees
//
//   g = mask[i] ? grad_scale · grad[i] : grad_scale · grad[i] + decay · weight[i]
//
// instead, of the weight before this update: the bits of masked_decay (ops/update/masked_decay.h) with
// scale = grad_scale and rate = decay on a copy of the gradient, then adamw with grad_scale 1. The
// gradient does not change, and the norm is that of the gradients alone. Where
// the tensor pulls_weight it is the weight that masked_decay changes, with scale = 1 and
// rate = -lr · lr_scale · decay, and then adamw as everywhere.
// A tensor may be the kept entries of a parameter: any equal shapes. With freeze_v it is adamw with
// freeze_v.
// Where loss or norm2 is not finite nothing changes.
//
// Error: norm2 at most n 2^-53 norm2 over the n elements of all tensors, then per tensor that of
// adamw; the same bits in every run.
#pragma once

#include <span>

#include "ops/context.h"
#include "ops/numbers/emit.h"
#include "tensor/view.h"

namespace twill {

struct UpdateTensor {
  View weight;  // f32 like grad; f64 on the reference only
  ConstView grad;
  View m;  // like weight, or bf16 in all tensors; v too
  View v;
  View operand = {};  // bf16, optional
  double lr_scale = 1.0;
  double weight_decay = 0.0;
  ConstView mask = {};  // u8, like weight, optional; 1 kept
  double decay = 0.0;   // of the entries that the mask prunes
  // The decay is on the weight, not on the gradient: in all tensors that have a mask, or in none.
  bool pulls_weight = false;
};

// kNorm2 has a place among them so that loss and norm can be read together.
enum UpdateScalar : int { kLr, kCorrection1, kCorrection2, kUpdate, kLoss, kNorm2, kUpdateScalars };

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
  bool freeze_v = false;
  std::uint64_t seed = 0;
  std::span<const EmitArgs> emits =
      {};  // of new weights (ops/numbers/emit.h); of old ones where nothing changes
};

inline constexpr std::int64_t kNormPartials = 4096;

constexpr std::int64_t update_table_bytes(std::int64_t num_tensors) { return 80 * num_tensors; }

// Whether pruned weights are pulled, and not their gradients. All tensors that have a mask agree.
bool pulls_weights(std::span<const UpdateTensor> tensors);

void prepare_update(const Context& context, const PrepareUpdateArgs& args);
void norm_all(const Context& context, const NormAllArgs& args);
void adamw_all(const Context& context, const AdamwAllArgs& args);

}  // namespace twill
