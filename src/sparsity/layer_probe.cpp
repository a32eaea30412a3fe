// SPDX-License-Identifier: Apache-2.0
#include "sparsity/layer_probe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "base/rng.h"
#include "nn/builder.h"
#include "ops/cast.h"
#include "ops/column_sum.h"
#include "ops/gemm.h"
#include "ops/kept.h"
#include "ops/mask.h"
#include "ops/masked_decay.h"
#include "ops/pack_both.h"
#include "ops/pack_sample.h"
#include "ops/packed_times.h"
#include "ops/timer.h"
#include "ops/times_packed.h"
#include "ops/transfer.h"
#include "sparsity/weight_projection.h"

namespace twill {
namespace {

constexpr CallLimits kCalls{};
// On a GPU, whose clocks fall by a fifth once it is at its power limit, as it is in training.
constexpr double kStretch = 0.05, kHeat = 0.3;

double probed_seconds(const Context& context, const std::function<void()>& body) {
  return shares_memory(context) ? best_seconds(context, kCalls, body)
                                : steady_seconds(context, kStretch, body);
}

constexpr std::int64_t kRandomValues = std::int64_t{1} << 20;

}  // namespace

LayerProbe::LayerProbe(const Context& context, const LinearSeam& seam, std::int64_t tokens,
                       DType type)
    : context_(context),
      seam_(seam),
      tokens_(tokens),
      outputs_(seam.weight->shape[0]),
      inputs_(seam.weight->shape[1]),
      type_(type),
      x_(matrix(tokens, inputs_, 1, type)),
      y_(matrix(tokens, outputs_, 2, type)),
      dx_(matrix(tokens, inputs_, 3, type)),
      weight_(matrix(outputs_, inputs_, 4, DType::kF32)),
      operand_(matrix(outputs_, inputs_, 4, type)),
      gradient_(matrix(outputs_, inputs_, 5, DType::kF32)),
      bias_(DType::kF32, {seam.sums_bias ? outputs_ : 0}, context.memory()) {}

Tensor LayerProbe::matrix(std::int64_t rows, std::int64_t cols, std::uint64_t stream,
                          DType type) const {
  Tensor wide(DType::kF32, {rows, cols}, host_memory());
  float* values = wide.view().as<float>();
  const std::int64_t size = rows * cols;
  for (std::int64_t i = 0; i < size; ++i) {
    if (i >= kRandomValues) {  // numbers repeat: what they are does not matter, that they vary does
      values[i] = values[i - kRandomValues];
      continue;
    }
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    values[i] = 2.0f * unit_float(bits[0]) - 1.0f;
  }
  Tensor there(DType::kF32, {rows, cols}, context_.memory());
  copy_in(context_, there.view(), values);
  if (type == DType::kF32) return there;
  Tensor narrow(type, {rows, cols}, context_.memory());
  cast(context_, {.x = there.view(), .y = narrow.view()});
  wait(context_);
  return narrow;
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

// Filling the operands was a rest.
void LayerProbe::heat() {
  if (shares_memory(context_)) return;
  const GemmArgs product{.a = x_.view(), .b = operand_.view(), .c = y_.view(), .trans_b = true};
  steady_seconds(context_, kHeat, [&] { gemm(context_, product); });
}

ProductSeconds LayerProbe::dense(bool with_bias) {
  heat();
  const View x = x_.view(), y = y_.view(), dx = dx_.view(), w = operand_.view();
  return {.forward = probed_seconds(
              context_, [&] { gemm(context_, {.a = x, .b = w, .c = y, .trans_b = true}); }),
          .dgrad = probed_seconds(context_, [&] { gemm(context_, {.a = y, .b = w, .c = dx}); }),
          .wgrad = probed_seconds(context_, [&] {
            gemm(context_, {.a = y, .b = x, .c = gradient_.view(), .trans_a = true});
            if (with_bias && seam_.sums_bias) column_sum(context_, {.x = y, .sum = bias_.view()});
          })};
}

ProductSeconds LayerProbe::dense_again(const ProductSeconds& first, bool with_bias) {
  if (shares_memory(context_)) return first;
  const ProductSeconds second = dense(with_bias);
  return {.forward = std::midpoint(first.forward, second.forward),
          .dgrad = std::midpoint(first.dgrad, second.dgrad),
          .wgrad = std::midpoint(first.wgrad, second.wgrad)};
}

PackedShape LayerProbe::any_shape(bool transpose, std::int64_t max_kept) const {
  return {.rows = transpose ? inputs_ : outputs_,
          .cols = transpose ? outputs_ : inputs_,
          .max_kept = max_kept,
          .type = type_};
}

// A weight packed for one product.
struct LayerProbe::Side {
  Side(LayerProbe& probe, ConstView dense_weight, ConstView mask_or_none, bool transposes,
       std::optional<PackedShape> packed)
      : context(probe.context_),
        dense(dense_weight),
        mask(mask_or_none),
        shape(packed),
        transpose(transposes),
        storage(DType::kU8, {shape ? packed_bytes(context, *shape) : 0}, context.memory()) {
    pack(/*same_mask=*/false);
  }
  void pack(bool same_mask) {
    if (!shape) return;
    pack_matrix(context, {.dense = dense,
                          .mask = mask,
                          .shape = *shape,
                          .storage = storage.view(),
                          .transpose = transpose,
                          .same_mask = same_mask});
  }
  // x Pᵀ
  double product_seconds(ConstView x, View c) {
    if (!shape) return std::numeric_limits<double>::infinity();
    const PackedMatrix matrix{.shape = *shape, .storage = storage.view()};
    return probed_seconds(context,
                          [&] { times_packed(context, {.x = x, .packed = matrix, .c = c}); });
  }

  const Context& context;
  ConstView dense, mask;
  std::optional<PackedShape> shape;
  bool transpose;
  Tensor storage;
};

ProductSeconds LayerProbe::products(Side& forward, Side& dgrad) {
  return {.forward = forward.product_seconds(x_.view(), y_.view()),
          .dgrad = dgrad.product_seconds(y_.view(), dx_.view())};
}

double LayerProbe::pack_seconds(Side& forward, Side& dgrad, bool same_mask) {
  if (!forward.shape && !dgrad.shape) return 0.0;
  return probed_seconds(context_, [&] {
    if (!forward.shape) return dgrad.pack(same_mask);
    if (!dgrad.shape) return forward.pack(same_mask);
    pack_both(context_, {.dense = forward.dense,
                         .mask = forward.mask,
                         .shape = *forward.shape,
                         .storage = forward.storage.view(),
                         .shape_transposed = *dgrad.shape,
                         .storage_transposed = dgrad.storage.view(),
                         .same_mask = same_mask});
  });
}

double LayerProbe::sampled_wgrad(const WgradPart& part) {
  const PackedShape shape = packed_sample_shape(outputs_, tokens_, type_);
  const std::int64_t bytes = packed_bytes(context_, shape);
  if (bytes == 0) return std::numeric_limits<double>::infinity();
  Tensor sample(type_, {tokens_, outputs_}, context_.memory());
  Tensor storage(DType::kU8, {bytes}, context_.memory());
  return probed_seconds(context_, [&] {
    pack_sample(context_, {.x = y_.view(),
                           .sample = sample.view(),
                           .shape = shape,
                           .storage = storage.view(),
                           .law = part.estimator == "mvue" ? MvueLaw::kExact : MvueLaw::kTwoDraw,
                           .sum = seam_.sums_bias ? bias_.view() : View()});
    packed_times(context_, {.packed = {.shape = shape, .storage = storage.view()},
                            .b = x_.view(),
                            .c = gradient_.view()});
  });
}

// The steps of sparsity/engine.h on a weight of the probe's own.
struct LayerProbe::PatternLayer {
  PatternLayer(LayerProbe& of, const WeightsPart& weights)
      : probe(of),
        part(weights),
        mask(DType::kU8, {probe.outputs_, probe.inputs_}, probe.context_.memory()),
        projected(probe.type_, {probe.outputs_, probe.inputs_}, probe.context_.memory()),
        seam(probe.seam_) {
    own.shape = probe.seam_.weight->shape;
    own.value = own.operand = probe.weight_.view();
    seam.weight = &own;
    layer.seam = &seam;
    layer.mask = mask.view();
    layer.projected = projected.view();
    choose();
    carry();
  }
  PatternLayer(const PatternLayer&) = delete;
  PatternLayer& operator=(const PatternLayer&) = delete;

  void choose() { choose_mask(probe.context_, part, seam, own.value, layer.mask); }
  void carry() { project(probe.context_, part, layer); }
  void carry_softly(Side& forward, Side& dgrad) {
    project_softly(probe.context_, part, layer, {forward.shape, forward.storage.view()},
                   {dgrad.shape, dgrad.storage.view()});
  }
  // Nothing is packed where it is not wanted.
  Side side(bool transpose, bool wanted) {
    const bool is_soft = part.is_soft();
    return Side(
        probe, is_soft ? layer.projected : own.value, is_soft ? ConstView() : ConstView(layer.mask),
        transpose,
        wanted ? packed_shape(probe.context_, layer, part, transpose, probe.type_) : std::nullopt);
  }

  LayerProbe& probe;
  const WeightsPart& part;
  Tensor mask, projected;
  LinearSeam seam;
  Parameter own;
  SparseLayer layer;
};

ProductSeconds LayerProbe::pattern(const PhaseConfig& phase) {
  PatternLayer layer(*this, phase.weights);
  Side forward = layer.side(/*transpose=*/false, true),
       dgrad = layer.side(/*transpose=*/true, true);
  heat();
  ProductSeconds seconds = products(forward, dgrad);
  if (phase.wgrad.estimator != "dense") seconds.wgrad = sampled_wgrad(phase.wgrad);
  return seconds;
}

double LayerProbe::pattern_upkeep(const PhaseConfig& phase, const Upkeep& upkeep) {
  const WeightsPart& part = phase.weights;
  PatternLayer layer(*this, part);
  Side forward = layer.side(/*transpose=*/false, upkeep.packs_forward);
  Side dgrad = layer.side(/*transpose=*/true, upkeep.packs_dgrad);
  const bool new_mask = part.is_soft() || part.refresh == 1;
  double seconds = part.is_soft()
                       ? probed_seconds(context_, [&] { layer.carry_softly(forward, dgrad); })
                       : pack_seconds(forward, dgrad, !new_mask);
  // Masked weights are made for who takes them.
  if (!part.is_soft() && (!forward.shape || !dgrad.shape))
    seconds += probed_seconds(context_, [&] { layer.carry(); });
  if (!part.is_soft() || phase.decay.on != "none") {
    const double packing = new_mask ? 0.0 : pack_seconds(forward, dgrad, false);
    seconds += (probed_seconds(context_, [&] { layer.choose(); }) + packing) /
               static_cast<double>(part.is_soft() ? 1 : part.refresh);
  }
  if (phase.decay.on == "none" || !upkeep.decays_apart) return seconds;
  return seconds + probed_seconds(context_, [&] {
           masked_decay(context_, {.target = gradient_.view(),
                                   .weight = weight_.view(),
                                   .mask = layer.mask.view(),
                                   .rate = 1e-6});
         });
}

LayerProbe::Topology LayerProbe::topology(double density) {
  const Tensor mask = random_mask(density);
  const auto* bytes = mask.view().as<std::uint8_t>();
  const std::int64_t kept = std::count(bytes, bytes + outputs_ * inputs_, std::uint8_t{1});
  Side forward(*this, weight_.view(), mask.view(), false, any_shape(false, kept));
  Side dgrad(*this, weight_.view(), mask.view(), true, any_shape(true, kept));
  Topology result{.products = products(forward, dgrad)};

  Tensor row_begin(DType::kI32, {outputs_ + 1}, context_.memory());
  Tensor column(DType::kI32, {kept}, context_.memory());
  Tensor values(DType::kF32, {kept}, context_.memory());
  find_kept(context_,
            {.mask = mask.view(), .row_begin = row_begin.view(), .column = column.view()});
  const KeptPositions positions{.row_begin = row_begin.view(), .column = column.view()};
  result.products.wgrad = probed_seconds(context_, [&] {
    kept_gradient(context_,
                  {.dy = y_.view(), .x = x_.view(), .kept = positions, .values = values.view()});
  });
  result.upkeep =
      pack_seconds(forward, dgrad, true) + probed_seconds(context_, [&] {
        scatter_kept(context_,
                     {.values = values.view(), .kept = positions, .dense = gradient_.view()});
      });
  result.new_mask =
      pack_seconds(forward, dgrad, false) + probed_seconds(context_, [&] {
        find_kept(context_,
                  {.mask = mask.view(), .row_begin = row_begin.view(), .column = column.view()});
        for (int array = 0; array < 3; ++array)  // the weight and its two moments
          gather_kept(context_,
                      {.dense = weight_.view(), .kept = positions, .values = values.view()});
      });
  return result;
}

}  // namespace twill
