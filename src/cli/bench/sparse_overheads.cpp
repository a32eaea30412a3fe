// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/sparse_overheads.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "measure/random_fill.h"
#include "measure/ratio.h"
#include "measure/slices.h"
#include "ops/layers/activation.h"
#include "ops/packing/activation_sample.h"
#include "ops/packing/pack_both.h"
#include "ops/packing/pack_sample.h"
#include "ops/packing/soft_pack24.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/select24.h"
#include "ops/selection/transposable24.h"
#include "ops/transfer.h"
#include "ops/update/masked_decay.h"

namespace twill::cli {
namespace {

// Ten times the L2 of an H200.
constexpr std::int64_t kColdBytes = std::int64_t{512} << 20;
constexpr std::int64_t kMostCopies = 64;

SparseOverhead timed_overhead(const Context& context, const std::string& work, double bytes,
                              double seconds, const std::function<void()>& body) {
  const auto times = time_in_slices(context, {body}, {.seconds = seconds});
  return {.work = work, .seconds = median_of(times.front()), .bytes = bytes};
}

// A weight and all that a step keeps beside it.
struct WeightCopy {
  Tensor weight, gradient, mask, packed, packed_transposed, projected;
};

PackMatrixArgs packing_of(WeightCopy& copy, PackedShape shape, bool transpose) {
  if (transpose) std::swap(shape.rows, shape.cols);
  return {.dense = copy.weight.view(),
          .mask = copy.mask.view(),
          .shape = shape,
          .storage = (transpose ? copy.packed_transposed : copy.packed).view(),
          .transpose = transpose};
}

PackBothArgs packing_of_both(WeightCopy& copy, const PackedShape& shape) {
  PackedShape transposed = shape;
  std::swap(transposed.rows, transposed.cols);
  return {.dense = copy.weight.view(),
          .mask = copy.mask.view(),
          .shape = shape,
          .storage = copy.packed.view(),
          .shape_transposed = transposed,
          .storage_transposed = copy.packed_transposed.view()};
}

SoftPack24Args soft_packing_of(WeightCopy& copy, const PackedShape& shape) {
  return {.x = copy.weight.view(),
          .projected = copy.projected.view(),
          .scale = 1.5,
          .shape = shape,
          .storage = copy.packed.view()};
}

MaskedDecayArgs decay_of(WeightCopy& copy) {
  return {.target = copy.gradient.view(),
          .weight = copy.weight.view(),
          .mask = copy.mask.view(),
          .rate = 1e-6};
}

std::int64_t search_bytes(const GemmPattern& pattern, WeightCopy& copy) {
  if (pattern.kind == GemmPattern::Kind::kTransposable)
    return moved_bytes(Transposable24Args{.x = copy.weight.view(), .mask = copy.mask.view()});
  return moved_bytes(Select24Args{.x = copy.weight.view(), .mask = copy.mask.view()});
}

std::vector<WeightCopy> weight_copies(const Context& context, const GemmPattern& pattern,
                                      const PackedShape& shape) {
  const Shape sides{shape.rows, shape.cols};
  PackedShape transposed = shape;
  std::swap(transposed.rows, transposed.cols);
  const std::int64_t bytes = packed_bytes(context, shape);
  const std::int64_t bytes_transposed = packed_bytes(context, transposed);
  const std::int64_t each =
      (9 + size_of(shape.type)) * sides.num_elements() + bytes + bytes_transposed;
  const std::int64_t count = std::clamp<std::int64_t>(kColdBytes / each, 1, kMostCopies);
  std::vector<WeightCopy> copies;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto stream = static_cast<std::uint64_t>(10 + i);
    copies.push_back({.weight = normal_matrix(context, DType::kF32, sides, stream),
                      .gradient = Tensor(DType::kF32, sides, context.memory()),
                      .mask = Tensor(DType::kU8, sides, context.memory()),
                      .packed = Tensor(DType::kU8, {bytes}, context.memory()),
                      .packed_transposed = Tensor(DType::kU8, {bytes_transposed}, context.memory()),
                      .projected = Tensor(shape.type, sides, context.memory())});
    search_mask(context, pattern, copies.back().weight.view(), copies.back().mask.view());
  }
  return copies;
}

}  // namespace

std::vector<SparseOverhead> weight_overheads(const Context& context, const GemmPattern& pattern,
                                             const WeightShape& shape, DType type, double seconds) {
  const PackedShape packed{.pattern = pattern.packed(type),
                           .rows = shape.outputs,
                           .cols = shape.inputs,
                           .max_kept = shape.outputs * shape.inputs / 2,
                           .type = type};
  std::vector<WeightCopy> copies = weight_copies(context, pattern, packed);
  std::size_t turn = 0;
  const auto next = [&]() -> WeightCopy& { return copies[turn++ % copies.size()]; };
  std::vector<SparseOverhead> overheads;
  const auto add = [&](const std::string& work, std::int64_t bytes,
                       const std::function<void()>& body) {
    overheads.push_back(timed_overhead(context, work, static_cast<double>(bytes), seconds, body));
  };
  WeightCopy& first = copies.front();
  add("mask search", search_bytes(pattern, first), [&] {
    WeightCopy& copy = next();
    search_mask(context, pattern, copy.weight.view(), copy.mask.view());
  });
  add("pack W", moved_bytes(packing_of(first, packed, false)),
      [&] { pack_matrix(context, packing_of(next(), packed, false)); });
  // A mask along rows leaves no two of four along columns: there is no dgrad with it.
  if (pattern.kind == GemmPattern::Kind::kTransposable) {
    add("pack W transposed", moved_bytes(packing_of(first, packed, true)),
        [&] { pack_matrix(context, packing_of(next(), packed, true)); });
    add("pack both", moved_bytes(packing_of_both(first, packed)),
        [&] { pack_both(context, packing_of_both(next(), packed)); });
    // As a step does it, with the weights of all layers.
    std::vector<PackBothArgs> all;
    all.reserve(copies.size());
    for (WeightCopy& copy : copies) all.push_back(packing_of_both(copy, packed));
    const PackWeightsArgs together{.weights = all};
    if (all.size() > 1)
      add(fmt::format("pack both, {} weights at once", all.size()), moved_bytes(together),
          [&] { pack_weights(context, together); });
  }
  // S-STE's groups lie in rows.
  if (pattern.kind == GemmPattern::Kind::kRows)
    add("soft threshold and packing", moved_bytes(soft_packing_of(first, packed)),
        [&] { soft_pack24(context, soft_packing_of(next(), packed)); });
  add("masked decay", moved_bytes(decay_of(first)),
      [&] { masked_decay(context, decay_of(next())); });
  return overheads;
}

std::vector<SparseOverhead> gradient_overheads(const Context& context, ConstView dy,
                                               double seconds) {
  const std::int64_t tokens = dy.rows(), channels = dy.cols();
  const PackedShape shape = packed_sample_shape(channels, tokens, dy.dtype());
  const Tensor before = normal_matrix(context, dy.dtype(), dy.shape(), 6);
  Tensor dx(dy.dtype(), dy.shape(), context.memory());
  Tensor sample(dy.dtype(), dy.shape(), context.memory());
  Tensor storage(DType::kU8, {packed_bytes(context, shape)}, context.memory());
  const Mvue24Args draw{.x = dy, .y = sample.view()};
  const auto pack_of = [&](ConstView x) {
    return PackSampleArgs{
        .x = x, .sample = sample.view(), .shape = shape, .storage = storage.view()};
  };
  const ActivationBackwardArgs slope{
      .kind = Activation::kGeluTanh, .x = before.view(), .dy = dy, .dx = dx.view()};
  std::vector<SparseOverhead> overheads;
  const auto add = [&](const char* work, std::int64_t bytes, const std::function<void()>& body) {
    overheads.push_back(timed_overhead(context, work, static_cast<double>(bytes), seconds, body));
  };
  add("MVUE alone", moved_bytes(draw), [&] { mvue24(context, draw); });
  add("MVUE and packing", moved_bytes(pack_of(dy)), [&] { pack_sample(context, pack_of(dy)); });
  const ActivationSampleArgs of_gelu{.activation = slope, .pack = pack_of(dx.view())};
  add("GELU gradient, MVUE, packing", moved_bytes(of_gelu),
      [&] { activation_sample(context, of_gelu); });
  if (channels % 2 != 0) return overheads;
  // As many channels of dx: half of them are gates.
  const Shape half{tokens, channels / 2};
  ActivationSampleArgs of_swiglu = of_gelu;
  of_swiglu.activation.kind = Activation::kSwiglu;
  of_swiglu.activation.dy = dy.slice(0, half.num_elements()).reshaped(half);
  add("SwiGLU gradient, MVUE, packing", moved_bytes(of_swiglu),
      [&] { activation_sample(context, of_swiglu); });
  // Alone, on rows of tokens as products write them.
  const ActivationForwardArgs forward{
      .kind = Activation::kSwiglu,
      .x = before.view(),
      .y = sample.view().slice(0, half.num_elements()).reshaped(half)};
  const ActivationBackwardArgs& backward = of_swiglu.activation;
  const BenchTable& benches = context.kernels().benches;
  add("SwiGLU", moved_bytes(forward), [&] { activation_forward(context, forward); });
  if (benches.activation_forward_by_channel != nullptr)
    add("SwiGLU, channel by channel", moved_bytes(forward),
        [&] { benches.activation_forward_by_channel(forward, context.device(), context.queue()); });
  add("SwiGLU gradient", moved_bytes(backward), [&] { activation_backward(context, backward); });
  if (benches.activation_backward_by_channel != nullptr)
    add("SwiGLU gradient, channel by channel", moved_bytes(backward), [&] {
      benches.activation_backward_by_channel(backward, context.device(), context.queue());
    });
  return overheads;
}

}  // namespace twill::cli
