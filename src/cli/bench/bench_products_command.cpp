// SPDX-License-Identifier: Apache-2.0
// What `twill bench gemm` asks of a GPU, and what a GPU refuses.
#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/bench/bench_products.h"
#include "cli/screen/moving_line.h"
#include "cli/screen/terminal.h"
#include "io/atomic_file.h"
#include "train/step/roof.h"
#include "twill/version.h"

namespace twill::cli {
namespace {

std::vector<ProductCase> product_cases(const BenchCommand& command) {
  std::vector<ProductCase> usual = usual_product_cases();
  if (command.shapes.empty() && command.tokens.empty()) return usual;
  if (command.shapes.empty()) {  // the usual weights with other tokens
    std::vector<ProductCase> cases;
    for (const std::int64_t tokens : command.tokens)
      for (ProductCase problem : usual) {
        problem.tokens = tokens;
        cases.push_back(problem);
      }
    return cases;
  }
  const std::vector<std::int64_t> tokens =
      command.tokens.empty() ? std::vector<std::int64_t>{16384} : command.tokens;
  std::vector<ProductCase> cases;
  for (const std::string& word : command.shapes)
    for (const std::int64_t count : tokens)
      cases.push_back({.shape = parse_shape(word), .tokens = count});
  return cases;
}

// One suffices: whether a mask is transposable changes nothing for the product with W.
std::vector<GemmPattern> product_patterns(const BenchCommand& command, const Context& context) {
  if (command.patterns.empty()) return {parse_pattern("2:4-transposable")};
  std::vector<GemmPattern> patterns;
  for (const std::string& word : command.patterns) {
    patterns.push_back(parse_pattern(word));
    const GemmPattern::Kind kind = patterns.back().kind;
    require(kind == GemmPattern::Kind::kTransposable || kind == GemmPattern::Kind::kRows,
            "--patterns: the {} backend leaves out the zeros of 2:4 patterns alone, got {}; "
            "expected 2:4-transposable or 2:4, or device=cpu",
            context.kernels().name, word);
  }
  return patterns;
}

void require_packed_case(const Context& context, const ProductCase& problem,
                         const GemmPattern& pattern) {
  pattern.require_fits(problem.shape);
  const auto [outputs, inputs] = problem.shape;
  const PackedShape weight{.pattern = pattern.packed(DType::kBf16),
                           .rows = outputs,
                           .cols = inputs,
                           .type = DType::kBf16};
  PackedShape transposed = weight;
  std::swap(transposed.rows, transposed.cols);
  require(packed_bytes(context, weight) > 0 && packed_bytes(context, transposed) > 0,
          "--shapes: the {} backend does not pack {}x{}; sides in multiples of 16 it does",
          context.kernels().name, outputs, inputs);
}

}  // namespace

int bench_products(const BenchCommand& command, const Context& context) {
  const std::vector<GemmPattern> patterns = product_patterns(command, context);
  const std::vector<ProductCase> cases = product_cases(command);
  for (const ProductCase& problem : cases)
    for (const GemmPattern& pattern : patterns) require_packed_case(context, problem, pattern);
  const double copy = measure_copy_roof(context);
  print(
      fmt::format("{}\ncopy {:.4g} GB/s, read and written; bf16, {} s of each candidate in "
                  "slices in turn, medians\n",
                  context.kernels().describe(), copy / 1e9, command.seconds));
  std::vector<ProductBench> benches;
  JsonArray results;
  MovingLine line;
  for (const ProductCase& problem : cases) {
    line.show(fmt::format("{} x {}, {} tokens", problem.shape.outputs, problem.shape.inputs,
                          problem.tokens),
              static_cast<std::int64_t>(benches.size()), static_cast<std::int64_t>(cases.size()));
    benches.push_back(measure_products(context, problem, patterns, DType::kBf16, command.seconds));
    line.clear();
    print(report_of(benches.back(), copy));
    results.push_back(json_of(benches.back(), copy));
  }
  print(means_report(benches));
  if (!command.json.empty())
    write_file(command.json, to_json(JsonObject{{"version", kVersion},
                                                {"device", context.kernels().describe()},
                                                {"copy_bytes_per_second", copy},
                                                {"seconds", command.seconds},
                                                {"shapes", results},
                                                {"forward", json_of(means_of(benches, "forward"))},
                                                {"wgrad", json_of(means_of(benches, "wgrad"))},
                                                {"all", json_of(means_of(benches))}}));
  return kDone;
}

}  // namespace twill::cli
