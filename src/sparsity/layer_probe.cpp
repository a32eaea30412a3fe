// SPDX-License-Identifier: Apache-2.0
#include "sparsity/layer_probe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

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

constexpr std::int64_t kRandomValues = std::int64_t{1} << 20;

std::int64_t activated_width(const LinearSeam& seam) {
  return seam.weight->shape[0] / (seam.activates && is_gated(*seam.activates) ? 2 : 1);
}

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
      bias_(DType::kF32, {seam.sums_bias ? outputs_ : 0}, context.memory()),
      activated_(type, {seam.activates ? tokens : 0, activated_width(seam)}, context.memory()) {}

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

ProductSeconds LayerProbe::dense() {
  heat();
  const View x = x_.view(), y = y_.view(), dx = dx_.view(), w = operand_.view();
  return {.forward = probed_seconds(
              context_, [&] { gemm(context_, {.a = x, .b = w, .c = y, .trans_b = true}); }),
          .dgrad = probed_seconds(context_, [&] { gemm(context_, {.a = y, .b = w, .c = dx}); }),
          .wgrad = probed_seconds(context_, [&] {
            gemm(context_, {.a = y, .b = x, .c = gradient_.view(), .trans_a = true});
          })};
}

void LayerProbe::run(const GemmArgs& product, const PackedMatrix* packed) const {
  if (packed == nullptr) return gemm(context_, product);
  times_packed(context_, {.x = product.a,
                          .packed = *packed,
                          .c = product.c,
                          .epilogue = product.epilogue,
                          .activation = product.activation,
                          .before = product.before});
}

void LayerProbe::run_forward(const PackedMatrix* packed) {
  GemmArgs product{.a = x_.view(), .b = operand_.view(), .c = y_.view(), .trans_b = true};
  if (!seam_.activates) return run(product, packed);
  const Activation f = *seam_.activates;
  if (is_gated(f) && packed == nullptr) {  // as in Linear
    run(product, packed);
    return activation_forward(context_, {.kind = f, .x = y_.view(), .y = activated_.view()});
  }
  product.c = activated_.view();
  product.epilogue = GemmEpilogue::kActivation;
  product.activation = f;
  product.before = y_.view();
  run(product, packed);
}

void LayerProbe::run_dgrad(const PackedMatrix* packed) {
  GemmArgs product{.a = y_.view(), .b = operand_.view(), .c = dx_.view()};
  if (seam_.activated) {
    product.epilogue = GemmEpilogue::kActivationGradient;
    product.activation = *seam_.activated;
    product.before = x_.view();
  }
  run(product, packed);
}

void LayerProbe::run_wgrad() {
  gemm(context_, {.a = y_.view(), .b = x_.view(), .c = gradient_.view(), .trans_a = true});
  if (seam_.sums_bias) column_sum(context_, {.x = y_.view(), .sum = bias_.view()});
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

struct LayerProbe::SampledWgrad {
  SampledWgrad(LayerProbe& of, const WgradPart& part)
      : probe(of),
        law(part.estimator == "mvue" ? MvueLaw::kExact : MvueLaw::kTwoDraw),
        shape(packed_sample_shape(probe.outputs_, probe.tokens_, probe.type_)),
        bytes(part.estimator == "dense" ? 0 : packed_bytes(probe.context_, shape)),
        sample(probe.type_, {bytes > 0 ? probe.tokens_ : 0, probe.outputs_},
               probe.context_.memory()),
        storage(DType::kU8, {bytes}, probe.context_.memory()) {}

  bool is_possible() const { return bytes > 0; }
  void run() {
    pack_sample(probe.context_, {.x = probe.y_.view(),
                                 .sample = sample.view(),
                                 .shape = shape,
                                 .storage = storage.view(),
                                 .law = law,
                                 .sum = probe.seam_.sums_bias ? probe.bias_.view() : View()});
    packed_times(probe.context_, {.packed = {.shape = shape, .storage = storage.view()},
                                  .b = probe.x_.view(),
                                  .c = probe.gradient_.view()});
  }

  LayerProbe& probe;
  MvueLaw law;
  PackedShape shape;
  std::int64_t bytes;
  Tensor sample, storage;
};

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

LayerProbe::Compared LayerProbe::compare(const PhaseConfig& phase) {
  PatternLayer layer(*this, phase.weights);
  Side forward = layer.side(/*transpose=*/false, true),
       dgrad = layer.side(/*transpose=*/true, true);
  SampledWgrad sampled(*this, phase.wgrad);
  heat();
  const auto [dense_forward, packed_forward] = seconds_in_turns(
      context_, [&] { run_forward(nullptr); }, forward.shape.has_value(),
      [&, matrix = forward.matrix()] { run_forward(&matrix); });
  const auto [dense_dgrad, packed_dgrad] = seconds_in_turns(
      context_, [&] { run_dgrad(nullptr); }, dgrad.shape.has_value(),
      [&, matrix = dgrad.matrix()] { run_dgrad(&matrix); });
  const auto [dense_wgrad, packed_wgrad] = seconds_in_turns(
      context_, [&] { run_wgrad(); }, sampled.is_possible(), [&] { sampled.run(); });
  const bool samples = phase.wgrad.estimator != "dense";
  return {
      .dense = {.forward = dense_forward, .dgrad = dense_dgrad, .wgrad = dense_wgrad},
      .packed = {
          .forward = packed_forward, .dgrad = packed_dgrad, .wgrad = samples ? packed_wgrad : 0.0}};
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
