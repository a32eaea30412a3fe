// SPDX-License-Identifier: Apache-2.0
#include "sparsity/layer_probe.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "nn/builder.h"
#include "ops/gemm.h"
#include "ops/kept.h"
#include "ops/mask.h"
#include "ops/masked_decay.h"
#include "ops/mvue24.h"
#include "ops/packed_times.h"
#include "ops/timer.h"
#include "ops/times_packed.h"
#include "ops/transfer.h"
#include "sparsity/weight_projection.h"

namespace twill {
namespace {

constexpr CallLimits kCalls{};

}  // namespace

LayerProbe::LayerProbe(const Context& context, const LinearSeam& seam, std::int64_t tokens)
    : context_(context),
      seam_(seam),
      tokens_(tokens),
      outputs_(seam.weight->shape[0]),
      inputs_(seam.weight->shape[1]),
      x_(matrix(tokens, inputs_, 1)),
      y_(matrix(tokens, outputs_, 2)),
      dx_(matrix(tokens, inputs_, 3)),
      weight_(matrix(outputs_, inputs_, 4)),
      gradient_(matrix(outputs_, inputs_, 5)) {}

Tensor LayerProbe::matrix(std::int64_t rows, std::int64_t cols, std::uint64_t stream) const {
  Tensor tensor(DType::kF32, {rows, cols}, context_.memory());
  float* values = tensor.view().as<float>();
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    values[i] = 2.0f * unit_float(bits[0]) - 1.0f;
  }
  return tensor;
}

Tensor LayerProbe::random_mask(double density) const {
  Tensor tensor(DType::kU8, {outputs_, inputs_}, context_.memory());
  auto* bytes = tensor.view().as<std::uint8_t>();
  const auto below = static_cast<float>(density);
  for (std::int64_t i = 0; i < outputs_ * inputs_; ++i)
    bytes[i] =
        unit_float(random_bits(6, Purpose::kTest, 0, static_cast<std::uint64_t>(i))[0]) < below;
  return tensor;
}

ProductSeconds LayerProbe::dense() {
  const View x = x_.view(), y = y_.view(), dx = dx_.view(), w = weight_.view();
  return {
      .forward = best_seconds(context_, kCalls,
                              [&] { gemm(context_, {.a = x, .b = w, .c = y, .trans_b = true}); }),
      .dgrad = best_seconds(context_, kCalls, [&] { gemm(context_, {.a = y, .b = w, .c = dx}); }),
      .wgrad = best_seconds(context_, kCalls, [&] {
        gemm(context_, {.a = y, .b = x, .c = gradient_.view(), .trans_a = true});
      })};
}

PackedShape LayerProbe::shape(bool transpose, PackedPattern pattern, std::int64_t max_kept) const {
  return {.pattern = pattern,
          .rows = transpose ? inputs_ : outputs_,
          .cols = transpose ? outputs_ : inputs_,
          .max_kept = max_kept};
}

ProductSeconds LayerProbe::products(const PackedMatrix& forward, const PackedMatrix& dgrad) {
  const View x = x_.view(), y = y_.view(), dx = dx_.view();
  return {
      .forward = best_seconds(context_, kCalls,
                              [&] { times_packed(context_, {.x = x, .packed = forward, .c = y}); }),
      .dgrad = best_seconds(context_, kCalls,
                            [&] { times_packed(context_, {.x = y, .packed = dgrad, .c = dx}); })};
}

// A weight packed for one product.
struct LayerProbe::Side {
  Side(LayerProbe& probe, ConstView dense_weight, ConstView mask_or_none, bool transposes,
       PackedPattern pattern, std::int64_t max_kept)
      : context(probe.context_),
        dense(dense_weight),
        mask(mask_or_none),
        shape(probe.shape(transposes, pattern, max_kept)),
        transpose(transposes),
        storage(DType::kU8, {packed_bytes(context, shape)}, context.memory()) {
    pack(/*same_mask=*/false);
  }
  void pack(bool same_mask) {
    pack_matrix(context, {.dense = dense,
                          .mask = mask,
                          .shape = shape,
                          .storage = storage.view(),
                          .transpose = transpose,
                          .same_mask = same_mask});
  }
  double pack_seconds(bool same_mask) {
    return best_seconds(context, kCalls, [&] { pack(same_mask); });
  }
  PackedMatrix matrix() { return {.shape = shape, .storage = storage.view()}; }

  const Context& context;
  ConstView dense, mask;
  PackedShape shape;
  bool transpose;
  Tensor storage;
};

double LayerProbe::sampled_wgrad(const WgradPart& part) {
  Tensor sample(DType::kF32, {tokens_, outputs_}, context_.memory());
  const PackedShape shape{
      .rows = outputs_, .cols = tokens_, .max_kept = outputs_ * ((tokens_ + 3) / 4 * 2)};
  Tensor storage(DType::kU8, {packed_bytes(context_, shape)}, context_.memory());
  return best_seconds(context_, kCalls, [&] {
    mvue24(context_, {.x = y_.view(),
                      .y = sample.view(),
                      .law = part.estimator == "mvue" ? MvueLaw::kExact : MvueLaw::kTwoDraw});
    pack_matrix(
        context_,
        {.dense = sample.view(), .shape = shape, .storage = storage.view(), .transpose = true});
    packed_times(context_, {.packed = {.shape = shape, .storage = storage.view()},
                            .b = x_.view(),
                            .c = gradient_.view()});
  });
}

LayerProbe::Packed LayerProbe::pattern(const PhaseConfig& phase) {
  const WeightsPart& part = phase.weights;
  const DecayPart& decay = phase.decay;
  const PackedPattern pattern =
      part.pattern == "2:4-transposable" ? PackedPattern::kTransposable24 : PackedPattern::kAny;
  Tensor mask(DType::kU8, {outputs_, inputs_}, context_.memory());
  Tensor projected(DType::kF32, {outputs_, inputs_}, context_.memory());
  // The steps of sparsity/engine.h on a weight of the probe's own.
  LinearSeam seam = seam_;
  Parameter own;
  own.shape = seam.weight->shape;
  own.value = own.operand = weight_.view();
  seam.weight = &own;
  SparseLayer layer{.seam = &seam, .mask = mask.view(), .projected = projected.view()};
  const auto choose = [&] { choose_mask(context_, part, seam, weight_.view(), mask.view()); };
  const auto carry = [&] { project(context_, part, layer); };
  choose();
  carry();
  const ConstView from = part.is_soft() ? projected.view() : weight_.view();
  const ConstView kept = part.is_soft() ? ConstView() : ConstView(mask.view());
  const std::int64_t most = outputs_ * inputs_ / 2;
  Side forward(*this, from, kept, false, pattern, most);
  Side dgrad(*this, from, kept, true, pattern, most);

  Packed result{.products = products(forward.matrix(), dgrad.matrix())};
  if (phase.wgrad.estimator != "dense") result.products.wgrad = sampled_wgrad(phase.wgrad);
  const bool new_mask = part.is_soft() || part.refresh == 1;
  result.upkeep = best_seconds(context_, kCalls, carry) + forward.pack_seconds(!new_mask) +
                  dgrad.pack_seconds(!new_mask);
  const bool chooses = !part.is_soft() || decay.on != "none";
  if (chooses) {
    const double packing = new_mask ? 0.0 : forward.pack_seconds(false) + dgrad.pack_seconds(false);
    result.upkeep += (best_seconds(context_, kCalls, choose) + packing) /
                     static_cast<double>(part.is_soft() ? 1 : part.refresh);
  }
  if (decay.on != "none")
    result.upkeep += best_seconds(context_, kCalls, [&] {
      masked_decay(context_, {.target = gradient_.view(),
                              .weight = weight_.view(),
                              .mask = mask.view(),
                              .rate = 1e-6});
    });
  return result;
}

LayerProbe::Packed LayerProbe::topology(double density) {
  const Tensor mask = random_mask(density);
  const auto* bytes = mask.view().as<std::uint8_t>();
  const std::int64_t kept = std::count(bytes, bytes + outputs_ * inputs_, std::uint8_t{1});
  Side forward(*this, weight_.view(), mask.view(), false, PackedPattern::kAny, kept);
  Side dgrad(*this, weight_.view(), mask.view(), true, PackedPattern::kAny, kept);
  Packed result{.products = products(forward.matrix(), dgrad.matrix())};

  Tensor row_begin(DType::kI32, {outputs_ + 1}, context_.memory());
  Tensor column(DType::kI32, {kept}, context_.memory());
  Tensor values(DType::kF32, {kept}, context_.memory());
  find_kept(context_,
            {.mask = mask.view(), .row_begin = row_begin.view(), .column = column.view()});
  const KeptPositions positions{.row_begin = row_begin.view(), .column = column.view()};
  result.products.wgrad = best_seconds(context_, kCalls, [&] {
    kept_gradient(context_,
                  {.dy = y_.view(), .x = x_.view(), .kept = positions, .values = values.view()});
  });
  result.upkeep =
      forward.pack_seconds(true) + dgrad.pack_seconds(true) + best_seconds(context_, kCalls, [&] {
        scatter_kept(context_,
                     {.values = values.view(), .kept = positions, .dense = gradient_.view()});
      });
  result.new_mask =
      forward.pack_seconds(false) + dgrad.pack_seconds(false) + best_seconds(context_, kCalls, [&] {
        find_kept(context_,
                  {.mask = mask.view(), .row_begin = row_begin.view(), .column = column.view()});
        for (int array = 0; array < 3; ++array)  // the weight and its two moments
          gather_kept(context_,
                      {.dense = weight_.view(), .kept = positions, .values = values.view()});
      });
  return result;
}

}  // namespace twill
