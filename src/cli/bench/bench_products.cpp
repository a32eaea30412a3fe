// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_products.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/require.h"
#include "measure/random_fill.h"
#include "measure/slices.h"
#include "ops/numbers/cast.h"
#include "ops/packing/pack_sample.h"
#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/peer_product.h"
#include "ops/products/times_packed.h"
#include "ops/selection/mask.h"
#include "ops/selection/mvue24.h"
#include "ops/transfer.h"

namespace twill::cli {
namespace {

// Of what is not compared with anything.
constexpr double kShortSlices = 0.2;

double least_nonzero(double a, double b) { return a == 0.0 ? b : b == 0.0 ? a : std::min(a, b); }

// All candidates of one product.
class ProductRace {
 public:
  ProductRace(const Context& context, double seconds) : context_(context), seconds_(seconds) {}

  ProductTimes run(const GemmArgs& dense, const std::function<void()>& packed,
                   const PeerProductArgs& peer_args) {
    ProductTimes times{.product = {}, .pattern = {}, .flops = counted_flops(dense)};
    if (context_.kernels().benches.plain_gemm != nullptr)
      times.first_guess_seconds = short_time([&] {
        context_.kernels().benches.plain_gemm(dense, context_.device(), context_.queue());
      });
    const PeerProductReport peer = open_peer(peer_args, times.peer);
    std::vector<std::function<void()>> bodies{[&] { gemm(context_, dense); }, packed};
    if (peer.product) bodies.emplace_back([&] { peer.product->run(); });
    const auto seconds = time_in_slices(context_, bodies, {.seconds = seconds_});
    times.dense_seconds = median_of(seconds[0]);
    times.packed_seconds = median_of(seconds[1]);
    times.gain = paired_ratio(seconds[0], seconds[1]);
    if (!peer.product) return times;
    times.peer.seconds = median_of(seconds[2]);
    times.peer.ratio = paired_ratio(seconds[2], seconds[1]);
    times.peer.compress_seconds = short_time([&] { peer.product->compress(); });
    times.peer.transposed_seconds = transposed_time(peer_args);
    return times;
  }

 private:
  double short_time(const std::function<void()>& body) const {
    return median_of(
        time_in_slices(context_, {body}, {.seconds = std::min(kShortSlices, seconds_)}).front());
  }

  // With a result of our type, else of bf16.
  PeerProductReport open_peer(PeerProductArgs args, PeerTimes& times) {
    PeerProductReport peer = open_checked(args);
    if (!peer.product && args.result && args.result.dtype() == DType::kF32) {
      narrow_result_ = Tensor(DType::kBf16, args.result.shape(), context_.memory());
      args.result = narrow_result_.view();
      PeerProductReport narrow = open_checked(args);
      if (narrow.product) {
        times.note = fmt::format(
            "it has no f32 result ({}): its own is bf16, half the bytes of ours", peer.reason);
        peer = std::move(narrow);
      }
    }
    times.reason = peer.reason;
    if (peer.product) times.description = peer.product->description();
    return peer;
  }

  // The library is compared on what devices store.
  PeerProductReport open_checked(const PeerProductArgs& args) const {
    if (args.structured.dtype() != DType::kBf16) return {.reason = "the operands are not bf16"};
    return open_peer_product(context_, args);
  }

  double transposed_time(PeerProductArgs args) const {
    const DType type = narrow_result_.view() ? DType::kBf16 : args.result.dtype();
    const Shape& shape = args.result.shape();
    Tensor result(type, {shape[1], shape[0]}, context_.memory());
    args.result = result.view();
    args.transposed = true;
    const PeerProductReport peer = open_checked(args);
    return peer.product ? short_time([&] { peer.product->run(); }) : 0.0;
  }

  const Context& context_;
  double seconds_;
  Tensor narrow_result_;
};

// The operands of one case.
class ProductRun {
 public:
  ProductRun(const Context& context, const ProductCase& problem, DType type, double seconds)
      : context_(context),
        type_(type),
        seconds_(seconds),
        problem_(problem),
        x_(normal_matrix(context, type, {problem.tokens, problem.shape.inputs}, 1)),
        y_(normal_matrix(context, type, {problem.tokens, problem.shape.outputs}, 2)),
        master_(normal_matrix(context, DType::kF32, sides(), 3)),
        operand_(type, sides(), context.memory()) {
    if (type == DType::kF32) {
      copy(context, operand_.view(), master_.view());
    } else {
      cast(context, {.x = master_.view(), .y = operand_.view()});
    }
  }

  ProductTimes forward(const GemmPattern& pattern) {
    Tensor mask(DType::kU8, sides(), context_.memory());
    search_mask(context_, pattern, master_.view(), mask.view());
    const std::int64_t kept = mask.view().num_elements() / 2;
    const PackedWeight packed =
        packed_weight(context_, pattern, master_.view(), mask.view(), false, kept, type_);
    Tensor masked(type_, sides(), context_.memory());
    apply_mask(context_, {.x = master_.view(), .mask = mask.view(), .y = masked.view()});
    Tensor result(type_, y_.view().shape(), context_.memory());
    const TimesPackedArgs args{.x = x_.view(), .packed = packed.matrix(), .c = result.view()};
    ProductTimes times =
        ProductRace(context_, seconds_)
            .run({.a = x_.view(), .b = operand_.view(), .c = result.view(), .trans_b = true},
                 [&] { times_packed(context_, args); },
                 {.side = PackedSide::kRight,
                  .structured = masked.view(),
                  .other = x_.view(),
                  .result = result.view()});
    times.product = "forward";
    times.pattern = pattern.name;
    return times;
  }

  ProductTimes wgrad() {
    const PackedShape shape = packed_sample_shape(problem_.shape.outputs, problem_.tokens, type_);
    Tensor sample(type_, y_.view().shape(), context_.memory());
    Tensor storage(DType::kU8, {packed_bytes(context_, shape)}, context_.memory());
    pack_sample(
        context_,
        {.x = y_.view(), .sample = sample.view(), .shape = shape, .storage = storage.view()});
    mvue24(context_, {.x = y_.view(), .y = sample.view()});  // the same draws, for the peer
    Tensor gradient(DType::kF32, sides(), context_.memory());
    const PackedTimesArgs args{
        .packed = {.shape = shape, .storage = storage.view(), .kept = y_.view().num_elements() / 2},
        .b = x_.view(),
        .c = gradient.view()};
    ProductTimes times =
        ProductRace(context_, seconds_)
            .run({.a = y_.view(), .b = x_.view(), .c = gradient.view(), .trans_a = true},
                 [&] { packed_times(context_, args); },
                 {.side = PackedSide::kLeft,
                  .structured = sample.view(),
                  .other = x_.view(),
                  .result = gradient.view()});
    times.product = "wgrad";
    times.pattern = "MVUE 2:4";
    return times;
  }

  ConstView dy() const { return y_.view(); }

 private:
  Shape sides() const { return {problem_.shape.outputs, problem_.shape.inputs}; }

  const Context& context_;
  DType type_;
  double seconds_;
  ProductCase problem_;
  Tensor x_, y_, master_, operand_;
};

}  // namespace

std::vector<ProductCase> usual_product_cases() {
  struct Ffn {
    std::int64_t hidden, width, tokens;
  };
  std::vector<ProductCase> cases;
  for (const Ffn& ffn : {Ffn{3072, 768, 65536}, Ffn{4096, 1024, 32768}, Ffn{6400, 1600, 16384},
                         Ffn{5632, 2048, 24576}, Ffn{11008, 4096, 16384}}) {
    cases.push_back({.shape = {ffn.hidden, ffn.width}, .tokens = ffn.tokens});
    cases.push_back({.shape = {ffn.width, ffn.hidden}, .tokens = ffn.tokens, .wgrad = false});
  }
  return cases;
}

ProductBench measure_products(const Context& context, const ProductCase& problem,
                              const std::vector<GemmPattern>& patterns, DType type,
                              double seconds) {
  ProductBench bench{.problem = problem};
  ProductRun run(context, problem, type, seconds);
  for (const GemmPattern& pattern : patterns) bench.products.push_back(run.forward(pattern));
  if (problem.wgrad) bench.products.push_back(run.wgrad());
  if (context.kernels().readings != nullptr)
    bench.readings = context.kernels().readings(context.device());
  const double shortly = std::min(kShortSlices, seconds);
  for (const GemmPattern& pattern : patterns)
    std::ranges::move(weight_overheads(context, pattern, problem.shape, type, shortly),
                      std::back_inserter(bench.overheads));
  if (problem.wgrad)
    std::ranges::move(gradient_overheads(context, run.dy(), shortly),
                      std::back_inserter(bench.overheads));
  return bench;
}

ProductMeans means_of(const std::vector<ProductBench>& benches, const std::string& product) {
  ProductMeans means;
  double gains = 0.0, ratios = 0.0;
  for (const ProductBench& bench : benches)
    for (const ProductTimes& times : bench.products) {
      if (!product.empty() && times.product != product) continue;
      ++means.products;
      gains += std::log(times.gain.median);
      means.least_gain = least_nonzero(means.least_gain, times.gain.median);
      if (times.peer.seconds == 0.0) continue;
      ++means.peers;
      ratios += std::log(times.peer.ratio.median);
      means.least_ratio = least_nonzero(means.least_ratio, times.peer.ratio.median);
    }
  if (means.products > 0) means.gain = std::exp(gains / static_cast<double>(means.products));
  if (means.peers > 0) means.ratio = std::exp(ratios / static_cast<double>(means.peers));
  return means;
}

}  // namespace twill::cli
