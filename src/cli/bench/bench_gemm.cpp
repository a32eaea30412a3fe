// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_gemm.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/bench/bench_products.h"
#include "cli/screen/moving_line.h"
#include "cli/screen/words.h"
#include "io/atomic_file.h"
#include "measure/random_fill.h"
#include "measure/turns.h"
#include "ops/products/gemm.h"
#include "ops/products/times_packed.h"
#include "ops/selection/kept.h"
#include "ops/transfer.h"
#include "train/run/device_choice.h"
#include "twill/version.h"

namespace twill::cli {
namespace {

// OpenMP's threads spin for some milliseconds after a call and would hold the cores that our pool
// wants next. In training they do not exist, so here they are given time to fall asleep.
constexpr double kOpenMpSpinSeconds = 0.02;
// Of the calls that are not compared: packing, searches, the choice among dense products.
constexpr TurnLimits kShortLimits{.fewest = 3, .most = 20, .seconds = 0.05};

double short_seconds(const Context& context, const std::function<void()>& body) {
  return median_of(time_in_turns(context, {body}, kShortLimits).front());
}

// The operands of one shape and number of tokens, and what is measured with them.
class GemmRun {
 public:
  GemmRun(const Context& context, const WeightShape& shape, std::int64_t tokens, double seconds)
      : context_(context),
        seconds_(seconds),
        x_(uniform_matrix(context, DType::kF32, {tokens, shape.inputs}, 1)),
        y_(uniform_matrix(context, DType::kF32, {tokens, shape.outputs}, 2)),
        dx_(uniform_matrix(context, DType::kF32, {tokens, shape.inputs}, 3)),
        weight_(uniform_matrix(context, DType::kF32, {shape.outputs, shape.inputs}, 4)),
        gradient_(uniform_matrix(context, DType::kF32, {shape.outputs, shape.inputs}, 5)),
        mask_(DType::kU8, {shape.outputs, shape.inputs}, context.memory()),
        result_{.shape = shape, .tokens = tokens} {
    for (const char* name : {"forward", "dgrad", "wgrad"}) result_.dense.push_back(dense(name));
  }

  void measure(const GemmPattern& pattern) {
    const auto search = [&] { search_mask(context_, pattern, weight_.view(), mask_.view()); };
    search();
    const bool drawn = pattern.kind == GemmPattern::Kind::kUnstructured;
    result_.searches.push_back({pattern.name, drawn ? 0.0 : short_seconds(context_, search)});
    const std::int64_t kept = count_kept(context_, mask_.view());
    for (const bool transpose : {false, true}) measure_packed(pattern, transpose, kept);
    if (drawn && kept > 0) measure_kept(pattern, kept);
  }

  const GemmBench& result() const { return result_; }

 private:
  GemmArgs dense_args(const std::string& name) {
    if (name == "forward")
      return {.a = x_.view(), .b = weight_.view(), .c = y_.view(), .trans_b = true};
    if (name == "dgrad") return {.a = y_.view(), .b = weight_.view(), .c = dx_.view()};
    return {.a = y_.view(), .b = x_.view(), .c = gradient_.view(), .trans_a = true};
  }

  void run_plain_call(const GemmArgs& args) const {
    context_.kernels().benches.plain_gemm(args, context_.device(), context_.queue());
  }

  DenseProduct dense(const std::string& name) {
    const GemmArgs args = dense_args(name);
    const WeightShape& shape = result_.shape;
    DenseProduct product{
        .name = name,
        .flops = 2.0 * static_cast<double>(result_.tokens * shape.outputs * shape.inputs)};
    product.own_seconds = short_seconds(context_, [&] { gemm(context_, args); });
    if (context_.kernels().benches.plain_gemm == nullptr) return product;
    product.plain_call_seconds = short_seconds(context_, [&] { run_plain_call(args); });
    std::this_thread::sleep_for(std::chrono::duration<double>(kOpenMpSpinSeconds));
    return product;
  }

  // Dense and packed in turns.
  PackedProduct in_turns(const std::string& name, const GemmPattern& pattern, std::int64_t kept,
                         const std::function<void()>& packed) {
    const auto found = std::ranges::find(result_.dense, name, &DenseProduct::name);
    const GemmArgs args = dense_args(name);
    const bool library = found->takes_plain_call();
    const auto dense_body = [&] { library ? run_plain_call(args) : gemm(context_, args); };
    const auto seconds =
        time_in_turns(context_, {dense_body, packed},
                      {.seconds = seconds_, .rest_seconds = library ? kOpenMpSpinSeconds : 0.0});
    return {.pattern = pattern.name,
            .product = name,
            .density = static_cast<double>(kept) / static_cast<double>(mask_.view().num_elements()),
            .dense_seconds = median_of(seconds[0]),
            .packed_seconds = median_of(seconds[1]),
            .gain = paired_ratio(seconds[0], seconds[1])};
  }

  void measure_packed(const GemmPattern& pattern, bool transpose, std::int64_t kept) {
    PackedWeight weight =
        packed_weight(context_, pattern, weight_.view(), mask_.view(), transpose, kept);
    const TimesPackedArgs args{.x = transpose ? y_.view() : x_.view(),
                               .packed = weight.matrix(),
                               .c = transpose ? dx_.view() : y_.view()};
    PackedProduct product = in_turns(transpose ? "dgrad" : "forward", pattern, kept,
                                     [&] { times_packed(context_, args); });
    product.pack_seconds = short_seconds(context_, [&] { weight.pack(/*same_mask=*/false); });
    product.repack_seconds = short_seconds(context_, [&] { weight.pack(/*same_mask=*/true); });
    result_.packed.push_back(std::move(product));
  }

  void measure_kept(const GemmPattern& pattern, std::int64_t kept) {
    Tensor row_begin(DType::kI32, {result_.shape.outputs + 1}, context_.memory());
    Tensor column(DType::kI32, {kept}, context_.memory());
    Tensor values(DType::kF32, {kept}, context_.memory());
    const auto find = [&] {
      find_kept(context_,
                {.mask = mask_.view(), .row_begin = row_begin.view(), .column = column.view()});
    };
    find();
    const KeptGradientArgs args{.dy = y_.view(),
                                .x = x_.view(),
                                .kept = {.row_begin = row_begin.view(), .column = column.view()},
                                .values = values.view()};
    PackedProduct product =
        in_turns("wgrad", pattern, kept, [&] { kept_gradient(context_, args); });
    product.pack_seconds = short_seconds(context_, find);
    result_.packed.push_back(std::move(product));
  }

  const Context& context_;
  double seconds_;
  Tensor x_, y_, dx_, weight_, gradient_, mask_;
  GemmBench result_;
};

// Both matrices of an FFN of width d and hidden width 4 d.
std::vector<WeightShape> gemm_shapes(const BenchCommand& command) {
  std::vector<WeightShape> shapes;
  for (const std::string& word : command.shapes) shapes.push_back(parse_shape(word));
  if (shapes.empty())
    for (const std::int64_t d : {512, 768, 1024}) {
      shapes.push_back({4 * d, d});
      shapes.push_back({d, 4 * d});
    }
  return shapes;
}

std::vector<GemmPattern> gemm_patterns(const BenchCommand& command) {
  const std::vector<std::string> usual{"2:4-transposable", "2:4", "75%", "V:2:8", "90%", "95%"};
  std::vector<GemmPattern> patterns;
  for (const std::string& word : command.patterns.empty() ? usual : command.patterns)
    patterns.push_back(parse_pattern(word));
  return patterns;
}

Context open_for_products(const BenchCommand& command) {
  const Words words = split_words(command.words);
  RunConfig config = read_run_config(words.config_file, words.overrides);
  if (command.threads > 0) config.threads = command.threads;
  Context context = open_context(config);
  require(packs_matrices(context, storage_type(config, context)),
          "bench gemm: the {} backend has no packed products of {} here: on a GPU they need "
          "Ampere or later and bf16; device=cpu measures the CPU's",
          context.kernels().name, name_of(storage_type(config, context)));
  return context;
}

}  // namespace

int bench_gemm(const BenchCommand& command) {
  const Context context = open_for_products(command);
  if (context.kernels().stores_bf16) return bench_products(command, context);
  const std::vector<WeightShape> shapes = gemm_shapes(command);
  const std::vector<GemmPattern> patterns = gemm_patterns(command);
  const std::vector<std::int64_t> tokens =
      command.tokens.empty() ? std::vector<std::int64_t>{2048, 4096} : command.tokens;
  for (const GemmPattern& pattern : patterns)
    for (const WeightShape& shape : shapes) pattern.require_fits(shape);
  fmt::print("{} threads, {}\n", context.device().num_threads, context.kernels().describe());
  const auto all = static_cast<std::int64_t>(shapes.size() * tokens.size() * patterns.size());
  std::int64_t done = 0;
  JsonArray results;
  MovingLine line;
  for (const WeightShape& shape : shapes) {
    for (const std::int64_t count : tokens) {
      GemmRun run(context, shape, count, command.seconds);
      for (const GemmPattern& pattern : patterns) {
        line.show(
            fmt::format("{} x {}, {} tokens, {}", shape.outputs, shape.inputs, count, pattern.name),
            done++, all);
        run.measure(pattern);
      }
      line.clear();
      print_gemm(run.result());
      results.push_back(json_of(run.result()));
    }
  }
  if (!command.json.empty())
    write_file(command.json, to_json(JsonObject{{"version", kVersion},
                                                {"device", context.kernels().describe()},
                                                {"threads", context.device().num_threads},
                                                {"products", results}}));
  return kDone;
}

}  // namespace twill::cli
