// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/layer_probe.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/rng.h"
#include "measure/calls.h"
#include "measure/random_fill.h"
#include "nn/builder.h"
#include "ops/packing/pack_both.h"
#include "ops/products/product.h"
#include "ops/selection/kept.h"
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

// Two ways to do the same work, in turns; infinite: the second is not possible. A GPU's clocks depend for some
// 0.1 s on what ran before. On a CPU whoever else works there takes from one turn and not from all: the best
// of three is what the machine can do.
std::pair<double, double> seconds_in_turns(const Context& context,
                                           const std::function<void()>& first,
                                           bool second_is_possible,
                                           const std::function<void()>& second) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (!second_is_possible) return {probed_seconds(context, first), kNever};
  if (shares_memory(context)) {
    constexpr CallLimits kTurn{.fewest = 2, .most = 8, .enough = 0.015};
    double of_first = kNever, of_second = kNever;
    for (int turn = 0; turn < 3; ++turn) {
      of_first = std::min(of_first, best_seconds(context, kTurn, first));
      of_second = std::min(of_second, best_seconds(context, kTurn, second));
    }
    return {of_first, of_second};
  }
  constexpr int kTurns = 6;
  constexpr double kTurn = 0.02;
  double of_first = 0.0, of_second = 0.0;
  for (int turn = 0; turn < kTurns; ++turn) {
    of_first += steady_seconds(context, kTurn, first) / kTurns;
    of_second += steady_seconds(context, kTurn, second) / kTurns;
  }
  return {of_first, of_second};
}

Linear::Options options_of(const LinearSeam& site) {
  return {.in = site.weight->shape[1],
          .out = site.weight->shape[0],
          .bias = site.adds_bias,
          .family = site.family,
          .width_axis = site.width_axis,
          .adds_residual = site.adds_residual,
          .activates = site.activates,
          .activated = site.activated};
}

std::int64_t activated_width(const LinearSeam& site) {
  return site.weight->shape[0] / (site.activates && is_gated(*site.activates) ? 2 : 1);
}

}  // namespace

LayerProbe::LayerProbe(const Context& context, const LinearSeam& site, std::int64_t tokens,
                       DType type, bool samples)
    : context_(context),
      outputs_(site.weight->shape[0]),
      inputs_(site.weight->shape[1]),
      tokens_(tokens),
      type_(type),
      samples_(samples),
      gradient_with_sample_(samples && site.activates &&
                            gradient_comes_with_sample(context, *site.activates)),
      builder_(context, {.dtype = type,
                         .max_time = tokens,
                         .samples_gradients = samples,
                         .packs_samples = samples}),
      linear_(builder_, site.name, options_of(site)),
      seam_(builder_.linear_seams().front()),
      pass_{.context = context_, .time = tokens, .training = true, .as_trained = true},
      x_(uniform_matrix(context, type, {tokens, inputs_}, 1)),
      y_(uniform_matrix(context, type, {tokens, outputs_}, 2)),
      dx_(uniform_matrix(context, type, {tokens, inputs_}, 3)),
      residual_(type, {site.adds_residual ? tokens : 0, outputs_}, context.memory()),
      before_(type, {site.activates ? tokens : 0, outputs_}, context.memory()),
      activated_(type, {site.activates ? tokens : 0, activated_width(site)}, context.memory()),
      dbefore_(type, {gradient_with_sample_ ? tokens : 0, outputs_}, context.memory()) {
  builder_.commit();
  const Tensor weights = uniform_weights(context, outputs_, inputs_, 4);
  copy(context, seam_.weight->value, weights.view());
  for (Parameter& parameter : builder_.parameters()) {
    if (&parameter == seam_.weight) continue;
    const Tensor bias = uniform_matrix(context, DType::kF32, {outputs_}, 6);
    copy(context, parameter.value, bias.view());
    wait(context);
  }
  builder_.refresh_operands();
  wait(context);
  // What y has will do, and is on the device already.
  for (const View copied : {residual_.view(), before_.view(), activated_.view()})
    copy(context, copied, y_.view().slice(0, copied.num_elements()).reshaped(copied.shape()));
}

bool LayerProbe::keeps_slope_of(const std::optional<Activation>& f, const Form& form) const {
  // As in an FFN that has both of its products packed.
  return f && form.runs_packed(tokens_) && keeps_slope(context_, *f);
}

void LayerProbe::forward() {
  if (!seam_.activates)
    return linear_.forward(pass_, x_.view(), y_.view(),
                           seam_.adds_residual ? residual_.view() : View());
  linear_.forward_activated(pass_, x_.view(), *seam_.activates, before_.view(), activated_.view(),
                            keeps_slope_of(seam_.activates, seam_.route.forward));
}

void LayerProbe::dgrad() {
  const bool is_elsewhere =
      samples_ && seam_.activated && gradient_comes_with_sample(context_, *seam_.activated);
  if (!seam_.activated || is_elsewhere) return linear_.dgrad(pass_, y_.view(), dx_.view());
  linear_.dgrad_activated(pass_, y_.view(), *seam_.activated, x_.view(), dx_.view(),
                          keeps_slope_of(seam_.activated, seam_.route.dgrad));
}

ActivationBackwardArgs LayerProbe::activation_gradient() {
  return {.kind = *seam_.activates,
          .x = before_.view(),
          .dy = activated_.view(),
          .dx = dbefore_.view()};
}

// A packed sample sums the bias up on its way; of whole gradients nobody compares with that.
void LayerProbe::wgrad() {
  const bool packs = linear_.packs_sample(pass_);
  if (gradient_with_sample_ && packs)
    return linear_.wgrad_through_activation(pass_, x_.view(), activation_gradient());
  if (gradient_with_sample_) activation_backward(context_, activation_gradient());
  if (samples_ && seam_.sums_bias) return linear_.wgrad(pass_, x_.view(), dy());
  linear_.weight_gradient(pass_, x_.view(), dy());
}

bool LayerProbe::route_sample(WgradEstimator estimator) {
  Form& form = seam_.route.wgrad;
  form.sample = estimator == WgradEstimator::kMvue ? WgradSample::kMvue : WgradSample::kMvueTwoDraw;
  form.packs_sample = true;
  return samples_ && linear_.packs_sample(pass_);
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
  steady_seconds(context_, kHeat, [&] { linear_.forward(pass_, x_.view(), y_.view()); });
}

double LayerProbe::settled_seconds() {
  constexpr int kMostCalls = 1'000'000;  // of 2 µs
  const auto body = [&] { linear_.forward(pass_, x_.view(), y_.view()); };
  steady_seconds(context_, kSettle, body, kMostCalls);
  return steady_seconds(context_, kSettled, body, kMostCalls);
}

ProductSeconds LayerProbe::dense() {
  seam_.route = {};
  heat();
  const auto time = [&](const auto& body) { return probed_seconds(context_, body); };
  return {.forward = time([&] { linear_.forward(pass_, x_.view(), y_.view()); }),
          .dgrad = time([&] { linear_.dgrad(pass_, y_.view(), dx_.view()); }),
          .wgrad = time([&] { linear_.weight_gradient(pass_, x_.view(), y_.view()); })};
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
  Operand matrix() {
    return shape ? without_zeros({.shape = *shape, .storage = storage.view()}) : Operand();
  }

  const Context& context;
  ConstView dense, mask;
  std::optional<PackedShape> shape;
  bool transpose;
  Tensor storage;
};

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

// The steps of sparsity/engine/engine.h on the probe's weight.
struct LayerProbe::PatternLayer {
  PatternLayer(LayerProbe& of, const WeightsPart& weights)
      : probe(of),
        part(weights),
        mask(DType::kU8, {probe.outputs_, probe.inputs_}, probe.context_.memory()),
        projected(probe.type_, {probe.outputs_, probe.inputs_}, probe.context_.memory()) {
    layer.seam = &probe.seam_;
    layer.mask = mask.view();
    layer.projected = projected.view();
    choose();
    carry();
  }
  PatternLayer(const PatternLayer&) = delete;
  PatternLayer& operator=(const PatternLayer&) = delete;

  void choose() { choose_mask(probe.context_, part, probe.seam_, layer.weight(), layer.mask); }
  void carry() { project(probe.context_, part, layer); }
  void carry_softly(Side& forward, Side& dgrad) {
    project_softly(probe.context_, part, layer, {forward.shape, forward.storage.view()},
                   {dgrad.shape, dgrad.storage.view()});
  }
  // Nothing is packed where it is not wanted.
  Side side(bool transpose, bool wanted) {
    const bool is_soft = part.is_soft();
    return Side(
        probe, is_soft ? ConstView(layer.projected) : layer.weight(),
        is_soft ? ConstView() : ConstView(layer.mask), transpose,
        wanted ? packed_shape(probe.context_, layer, part, transpose, probe.type_) : std::nullopt);
  }

  LayerProbe& probe;
  const WeightsPart& part;
  Tensor mask, projected;
  SparseLayer layer;
};

LayerProbe::Compared LayerProbe::compare(const PhaseConfig& phase) {
  PatternLayer layer(*this, phase.weights);
  Side side_of_forward = layer.side(/*transpose=*/false, true);
  Side side_of_dgrad = layer.side(/*transpose=*/true, true);
  Route& route = seam_.route;
  route = {};
  heat();
  const auto with = [](Operand& slot, const Operand& matrix, const auto& body) {
    slot = matrix;
    body();
    slot = {};
  };
  const auto [dense_forward, packed_forward] = seconds_in_turns(
      context_, [&] { forward(); }, side_of_forward.shape.has_value(),
      [&, matrix = side_of_forward.matrix()] {
        with(route.forward.packed, matrix, [&] { forward(); });
      });
  const auto [dense_dgrad, packed_dgrad] = seconds_in_turns(
      context_, [&] { dgrad(); }, side_of_dgrad.shape.has_value(),
      [&, matrix = side_of_dgrad.matrix()] { with(route.dgrad.packed, matrix, [&] { dgrad(); }); });
  const bool can_sample = route_sample(phase.wgrad.estimator);
  const Form sampled = std::exchange(route.wgrad, {});
  const auto [dense_wgrad, packed_wgrad] = seconds_in_turns(
      context_, [&] { wgrad(); }, can_sample,
      [&] {
        route.wgrad = sampled;
        wgrad();
        route.wgrad = {};
      });
  return {.dense = {.forward = dense_forward, .dgrad = dense_dgrad, .wgrad = dense_wgrad},
          .packed = {.forward = packed_forward, .dgrad = packed_dgrad, .wgrad = packed_wgrad}};
}

ProductSeconds LayerProbe::as_in_a_step() {
  seam_.route = {};
  heat();
  const auto time = [&](const auto& body) { return probed_seconds(context_, body); };
  return {.forward = time([&] { forward(); }), .dgrad = time([&] { dgrad(); }), .wgrad = time([&] {
                                                                                  wgrad();
                                                                                })};
}

double LayerProbe::sampling(const PhaseConfig& phase, double dense_wgrad) {
  route_sample(phase.wgrad.estimator);
  seam_.route.wgrad.packs_sample = false;
  const double seconds = probed_seconds(context_, [&] { wgrad(); });
  seam_.route = {};
  return std::max(0.0, seconds - dense_wgrad);
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
           masked_decay(context_, {.target = seam_.weight->gradient,
                                   .weight = seam_.weight->value,
                                   .mask = layer.mask.view(),
                                   .rate = 1e-6});
         });
}

// A kept topology of random entries.
struct LayerProbe::KeptLayer {
  KeptLayer(LayerProbe& of, double density)
      : probe(of),
        mask(probe.random_mask(density)),
        kept(std::count(mask.view().as<std::uint8_t>(),
                        mask.view().as<std::uint8_t>() + mask.view().num_elements(),
                        std::uint8_t{1})),
        forward(probe, weight(), mask.view(), false, probe.any_shape(false, kept)),
        dgrad(probe, weight(), mask.view(), true, probe.any_shape(true, kept)),
        row_begin(DType::kI32, {probe.outputs_ + 1}, probe.context_.memory()),
        column(DType::kI32, {kept}, probe.context_.memory()),
        values(DType::kF32, {kept}, probe.context_.memory()) {
    find();
  }
  KeptLayer(const KeptLayer&) = delete;
  KeptLayer& operator=(const KeptLayer&) = delete;

  void find() {
    find_kept(probe.context_,
              {.mask = mask.view(), .row_begin = row_begin.view(), .column = column.view()});
  }
  KeptPositions positions() { return {.row_begin = row_begin.view(), .column = column.view()}; }
  ConstView weight() const { return probe.seam_.weight->value; }
  Route route() {
    Route route;
    route.forward.packed = forward.matrix();
    route.dgrad.packed = dgrad.matrix();
    route.wgrad.kept = positions();
    route.wgrad.kept_gradient = values.view();
    return route;
  }

  LayerProbe& probe;
  Tensor mask;
  std::int64_t kept;
  Side forward, dgrad;
  Tensor row_begin, column, values;
};

LayerProbe::Topology LayerProbe::topology(double density) {
  KeptLayer layer(*this, density);
  seam_.route = layer.route();
  const auto time = [&](const auto& body) { return probed_seconds(context_, body); };
  Topology result{
      .products = {.forward = time([&] { linear_.forward(pass_, x_.view(), y_.view()); }),
                   .dgrad = time([&] { linear_.dgrad(pass_, y_.view(), dx_.view()); }),
                   .wgrad = time([&] { linear_.weight_gradient(pass_, x_.view(), y_.view()); })}};
  seam_.route = {};
  result.upkeep = pack_seconds(layer.forward, layer.dgrad, true) + time([&] {
                    scatter_kept(context_, {.values = layer.values.view(),
                                            .kept = layer.positions(),
                                            .dense = seam_.weight->gradient});
                  });
  result.new_mask = pack_seconds(layer.forward, layer.dgrad, false) + time([&] {
                      layer.find();
                      for (int array = 0; array < 3; ++array)  // the weight and its two moments
                        gather_kept(context_, {.dense = layer.weight(),
                                               .kept = layer.positions(),
                                               .values = layer.values.view()});
                    });
  return result;
}

void LayerProbe::run_dense() {
  seam_.route = {};
  forward();
  dgrad();
  wgrad();
}

void LayerProbe::run_pattern(const PhaseConfig& phase) {
  PatternLayer layer(*this, phase.weights);
  Side side_of_forward = layer.side(/*transpose=*/false, true);
  Side side_of_dgrad = layer.side(/*transpose=*/true, true);
  seam_.route = {};
  seam_.route.forward.packed = side_of_forward.matrix();
  seam_.route.dgrad.packed = side_of_dgrad.matrix();
  forward();
  dgrad();
  if (phase.wgrad.estimator == WgradEstimator::kDense || !route_sample(phase.wgrad.estimator))
    seam_.route.wgrad = {};
  wgrad();
  seam_.route = {};
}

void LayerProbe::run_topology(double density) {
  KeptLayer layer(*this, density);
  seam_.route = layer.route();
  forward();
  dgrad();
  linear_.weight_gradient(pass_, x_.view(), y_.view());
  seam_.route = {};
}

}  // namespace twill
