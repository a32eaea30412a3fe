// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/layer_probe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/rng.h"
#include "nn/builder.h"
#include "ops/packing/pack_both.h"
#include "ops/products/gemm.h"
#include "ops/products/times_packed.h"
#include "ops/selection/kept.h"
#include "ops/selection/mask.h"
#include "ops/timer.h"
#include "ops/transfer.h"
#include "ops/update/masked_decay.h"
#include "sparsity/weights/weight_projection.h"

namespace twill {
namespace {

constexpr CallLimits kCalls{};
// On a GPU, whose clocks fall by a fifth once it is at its power limit, as it is in training.
constexpr double kStretch = 0.05, kHeat = 0.3, kSettle = 1.5, kSettled = 2.0;

double probed_seconds(const Context& context, const std::function<void()>& body) {
  return shares_memory(context) ? best_seconds(context, kCalls, body)
                                : steady_seconds(context, kStretch, body);
}

// Two ways to do the same work; infinite: the second is not possible. A GPU's clocks depend for some
// 0.1 s on what ran before, so there the two take turns, as they do in a step.
std::pair<double, double> seconds_in_turns(const Context& context,
                                           const std::function<void()>& first,
                                           bool second_is_possible,
                                           const std::function<void()>& second) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (!second_is_possible) return {probed_seconds(context, first), kNever};
  if (shares_memory(context))
    return {probed_seconds(context, first), probed_seconds(context, second)};
  constexpr int kTurns = 6;
  constexpr double kTurn = 0.02;
  double of_first = 0.0, of_second = 0.0;
  for (int turn = 0; turn < kTurns; ++turn) {
    of_first += steady_seconds(context, kTurn, first) / kTurns;
    of_second += steady_seconds(context, kTurn, second) / kTurns;
  }
  return {of_first, of_second};
}

}  // namespace

LayerProbe::LayerProbe(const Context& context, const LinearSeam& seam, std::int64_t tokens,
                       DType type, bool samples)
    : context_(context),
      seam_(seam),
      outputs_(seam.weight->shape[0]),
      inputs_(seam.weight->shape[1]),
      type_(type),
      work_(context, seam, tokens, type, samples),
      weight_(random_weights(context, outputs_, inputs_, 4, DType::kF32)) {}

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
  const GemmArgs product{.a = work_.x(), .b = work_.operand(), .c = work_.y(), .trans_b = true};
  steady_seconds(context_, kHeat, [&] { gemm(context_, product); });
}

double LayerProbe::settled_seconds() {
  const GemmArgs product{.a = work_.x(), .b = work_.operand(), .c = work_.y(), .trans_b = true};
  constexpr int kMostCalls = 1'000'000;  // of 2 µs
  const auto body = [&] { gemm(context_, product); };
  steady_seconds(context_, kSettle, body, kMostCalls);
  return steady_seconds(context_, kSettled, body, kMostCalls);
}

ProductSeconds LayerProbe::dense() {
  heat();
  const ConstView x = work_.x(), w = work_.operand();
  const View y = work_.y(), dx = work_.dx(), dw = work_.gradient();
  return {.forward = probed_seconds(
              context_, [&] { gemm(context_, {.a = x, .b = w, .c = y, .trans_b = true}); }),
          .dgrad = probed_seconds(context_, [&] { gemm(context_, {.a = y, .b = w, .c = dx}); }),
          .wgrad = probed_seconds(
              context_, [&] { gemm(context_, {.a = y, .b = x, .c = dw, .trans_a = true}); })};
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
  PackedMatrix matrix() {
    return shape ? PackedMatrix{.shape = *shape, .storage = storage.view()} : PackedMatrix{};
  }
  // x Pᵀ
  double product_seconds(ConstView x, View c) {
    if (!shape) return std::numeric_limits<double>::infinity();
    return probed_seconds(context,
                          [&] { times_packed(context, {.x = x, .packed = matrix(), .c = c}); });
  }

  const Context& context;
  ConstView dense, mask;
  std::optional<PackedShape> shape;
  bool transpose;
  Tensor storage;
};

ProductSeconds LayerProbe::products(Side& forward, Side& dgrad) {
  return {.forward = forward.product_seconds(work_.x(), work_.y()),
          .dgrad = dgrad.product_seconds(work_.y(), work_.dx())};
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

// The steps of sparsity/engine/engine.h on a weight of the probe's own.
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

LayerProbe::Compared LayerProbe::compare(const PhaseConfig& phase) {
  PatternLayer layer(*this, phase.weights);
  Side forward = layer.side(/*transpose=*/false, true),
       dgrad = layer.side(/*transpose=*/true, true);
  heat();
  const auto [dense_forward, packed_forward] = seconds_in_turns(
      context_, [&] { work_.forward(nullptr); }, forward.shape.has_value(),
      [&, matrix = forward.matrix()] { work_.forward(&matrix); });
  const auto [dense_dgrad, packed_dgrad] = seconds_in_turns(
      context_, [&] { work_.dgrad(nullptr); }, dgrad.shape.has_value(),
      [&, matrix = dgrad.matrix()] { work_.dgrad(&matrix); });
  const MvueLaw law =
      phase.wgrad.estimator == WgradEstimator::kMvue ? MvueLaw::kExact : MvueLaw::kTwoDraw;
  const auto [dense_wgrad, packed_wgrad] = seconds_in_turns(
      context_, [&] { work_.wgrad(); }, work_.can_sample(), [&] { work_.sampled_wgrad(law); });
  return {.dense = {.forward = dense_forward, .dgrad = dense_dgrad, .wgrad = dense_wgrad},
          .packed = {.forward = packed_forward, .dgrad = packed_dgrad, .wgrad = packed_wgrad}};
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
  if (!part.is_soft() || phase.decay.on != DecayOn::kNone) {
    const double packing = new_mask ? 0.0 : pack_seconds(forward, dgrad, false);
    seconds += (probed_seconds(context_, [&] { layer.choose(); }) + packing) /
               static_cast<double>(part.is_soft() ? 1 : part.refresh);
  }
  if (phase.decay.on == DecayOn::kNone || !upkeep.decays_apart) return seconds;
  return seconds + probed_seconds(context_, [&] {
           masked_decay(context_, {.target = work_.gradient(),
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
                  {.dy = work_.y(), .x = work_.x(), .kept = positions, .values = values.view()});
  });
  result.upkeep =
      pack_seconds(forward, dgrad, true) + probed_seconds(context_, [&] {
        scatter_kept(context_,
                     {.values = values.view(), .kept = positions, .dense = work_.gradient()});
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
