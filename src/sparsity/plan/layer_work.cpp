// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/layer_work.h"

#include <cmath>

#include "base/rng.h"
#include "nn/builder.h"
#include "ops/numbers/cast.h"
#include "ops/numbers/column_sum.h"
#include "ops/packing/activation_sample.h"
#include "ops/packing/pack_sample.h"
#include "ops/products/packed_times.h"
#include "ops/products/times_packed.h"
#include "ops/transfer.h"

namespace twill {
namespace {

constexpr std::int64_t kRandomValues = std::int64_t{1} << 20;

std::int64_t outputs_of(const LinearSeam& seam) { return seam.weight->shape[0]; }
std::int64_t inputs_of(const LinearSeam& seam) { return seam.weight->shape[1]; }

std::int64_t activated_width(const LinearSeam& seam) {
  return outputs_of(seam) / (seam.activates && is_gated(*seam.activates) ? 2 : 1);
}

}  // namespace

Tensor random_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                     std::uint64_t stream, DType type, double reach) {
  if (rows * cols == 0) return Tensor(type, {rows, cols}, context.memory());
  Tensor wide(DType::kF32, {rows, cols}, host_memory());
  float* values = wide.view().as<float>();
  const std::int64_t size = rows * cols;
  for (std::int64_t i = 0; i < size; ++i) {
    if (i >= kRandomValues) {  // numbers repeat: what they are does not matter, that they vary does
      values[i] = values[i - kRandomValues];
      continue;
    }
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    values[i] = static_cast<float>(reach) * (2.0f * unit_float(bits[0]) - 1.0f);
  }
  Tensor there(DType::kF32, {rows, cols}, context.memory());
  copy_in(context, there.view(), values);
  if (type == DType::kF32) return there;
  Tensor narrow(type, {rows, cols}, context.memory());
  cast(context, {.x = there.view(), .y = narrow.view()});
  wait(context);
  return narrow;
}

Tensor random_weights(const Context& context, std::int64_t outputs, std::int64_t inputs,
                      std::uint64_t stream, DType type) {
  return random_matrix(context, outputs, inputs, stream, type,
                       3.0 / std::sqrt(static_cast<double>(inputs)));
}

LayerWork::LayerWork(const Context& context, const LinearSeam& seam, std::int64_t tokens,
                     DType type, bool samples)
    : context_(context),
      seam_(seam),
      samples_(samples),
      gradient_with_sample_(samples && seam.activates &&
                            gradient_comes_with_sample(context, *seam.activates)),
      sample_shape_(packed_sample_shape(outputs_of(seam), tokens, type)),
      sample_bytes_(samples ? packed_bytes(context, sample_shape_) : 0),
      x_(random_matrix(context, tokens, inputs_of(seam), 1, type)),
      y_(random_matrix(context, tokens, outputs_of(seam), 2, type)),
      dx_(random_matrix(context, tokens, inputs_of(seam), 3, type)),
      operand_(random_weights(context, outputs_of(seam), inputs_of(seam), 4, type)),
      gradient_(random_matrix(context, outputs_of(seam), inputs_of(seam), 5, DType::kF32)),
      bias_(random_matrix(context, 1, seam.adds_bias ? outputs_of(seam) : 0, 6, type)),
      bias_sums_(DType::kF32, {seam.sums_bias ? outputs_of(seam) : 0}, context.memory()),
      residual_(type, {seam.adds_residual ? tokens : 0, outputs_of(seam)}, context.memory()),
      before_(type, {seam.activates ? tokens : 0, outputs_of(seam)}, context.memory()),
      activated_(type, {seam.activates ? tokens : 0, activated_width(seam)}, context.memory()),
      dbefore_(type, {gradient_with_sample_ ? tokens : 0, outputs_of(seam)}, context.memory()),
      sample_(type, {can_sample() ? tokens : 0, outputs_of(seam)}, context.memory()),
      packed_sample_(DType::kU8, {sample_bytes_}, context.memory()) {
  // What y has will do, and is on the device already.
  for (const View copied : {residual_.view(), before_.view(), activated_.view()})
    copy(context, copied, y_.view().slice(0, copied.num_elements()).reshaped(copied.shape()));
}

void LayerWork::run(const GemmArgs& product, const PackedMatrix* packed) const {
  if (packed == nullptr) return gemm(context_, product);
  TimesPackedArgs args = packed_product(product, *packed);
  // As in an FFN that has both of its products packed.
  args.keeps_slope =
      product.epilogue != GemmEpilogue::kNone && keeps_slope(context_, product.activation);
  times_packed(context_, args);
}

void LayerWork::forward(const PackedMatrix* packed) {
  GemmArgs product{.a = x_.view(), .b = operand_.view(), .c = y_.view(), .trans_b = true};
  if (seam_.adds_bias) product.bias = bias_.view().reshaped({outputs_of(seam_)});
  if (seam_.adds_residual) product.addend = residual_.view();
  if (!seam_.activates) return run(product, packed);
  const Activation f = *seam_.activates;
  if (is_gated(f) && packed == nullptr) {  // as in Linear
    product.c = before_.view();
    run(product, packed);
    return activation_forward(context_, {.kind = f, .x = before_.view(), .y = activated_.view()});
  }
  product.c = activated_.view();
  product.epilogue = GemmEpilogue::kActivation;
  product.activation = f;
  product.before = before_.view();
  run(product, packed);
}

void LayerWork::dgrad(const PackedMatrix* packed) {
  GemmArgs product{.a = y_.view(), .b = operand_.view(), .c = dx_.view()};
  if (seam_.activated && !(samples_ && gradient_comes_with_sample(context_, *seam_.activated))) {
    product.epilogue = GemmEpilogue::kActivationGradient;
    product.activation = *seam_.activated;
    product.before = x_.view();
  }
  run(product, packed);
}

ActivationBackwardArgs LayerWork::activation_gradient() {
  return {.kind = *seam_.activates,
          .x = before_.view(),
          .dy = activated_.view(),
          .dx = dbefore_.view()};
}

void LayerWork::wgrad() {
  if (gradient_with_sample_) activation_backward(context_, activation_gradient());
  gemm(context_, {.a = dy(), .b = x_.view(), .c = gradient_.view(), .trans_a = true});
  if (samples_ && seam_.sums_bias) column_sum(context_, {.x = dy(), .sum = bias_sums_.view()});
}

void LayerWork::sampled_wgrad(MvueLaw law) {
  const PackSampleArgs pack{.x = dy(),
                            .sample = sample_.view(),
                            .shape = sample_shape_,
                            .storage = packed_sample_.view(),
                            .law = law,
                            .sum = seam_.sums_bias ? bias_sums_.view() : View()};
  if (gradient_with_sample_)
    activation_sample(context_, {.activation = activation_gradient(), .pack = pack});
  else
    pack_sample(context_, pack);
  packed_times(context_, {.packed = {.shape = sample_shape_, .storage = packed_sample_.view()},
                          .b = x_.view(),
                          .c = gradient_.view()});
}

}  // namespace twill
