// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/bench/bench_gemm.h"
#include "cli/screen/terminal.h"

namespace twill::cli {
namespace {

std::string optional_ms(double seconds) {
  return seconds > 0.0 ? fmt::format("{:.3f}", 1e3 * seconds) : "";
}

double search_of(const GemmBench& bench, const std::string& pattern) {
  const auto found = std::ranges::find(bench.searches, pattern, &MaskSearch::pattern);
  return found == bench.searches.end() ? 0.0 : found->seconds;
}

// FLOP/s of the entries that are multiplied.
double packed_rate(const GemmBench& bench, const PackedProduct& product) {
  return bench.dense.front().flops * product.density / product.packed_seconds;
}

std::string dense_rows(const GemmBench& bench) {
  std::string text =
      fmt::format("{:<9}{:>10}{:>14}{:>10}\n", "dense", "own, ms", "library, ms", "GFLOP/s");
  for (const DenseProduct& product : bench.dense)
    text += fmt::format("{:<9}{:>10.3f}{:>14}{:>10.1f}\n", product.name, 1e3 * product.own_seconds,
                        optional_ms(product.plain_call_seconds),
                        product.flops / product.seconds() / 1e9);
  return text;
}

std::string packed_rows(const GemmBench& bench) {
  std::string text = fmt::format("{:<9}{:<18}{:>8}{:>10}{:>10}{:>9}{:>8}{:>17}{:>11}{:>10}{:>10}\n",
                                 "packed", "pattern", "density", "dense,ms", "packed,ms", "GFLOP/s",
                                 "gain", "95 % interval", "search,ms", "pack,ms", "again,ms");
  for (const PackedProduct& product : bench.packed) {
    std::string row = fmt::format(
        "{:<9}{:<18}{:>8.3f}{:>10.3f}{:>10.3f}{:>9.1f}{:>8.3f}{:>17}{:>11}{:>10}{:>10}",
        product.product, product.pattern, product.density, 1e3 * product.dense_seconds,
        1e3 * product.packed_seconds, packed_rate(bench, product) / 1e9, product.gain.median,
        fmt::format("{:.3f} to {:.3f}", product.gain.low, product.gain.high),
        optional_ms(search_of(bench, product.pattern)), optional_ms(product.pack_seconds),
        optional_ms(product.repack_seconds));
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

// null where there is nothing of the kind.
JsonValue optional_json_ms(double seconds) {
  if (seconds > 0.0) return 1e3 * seconds;
  return {};
}

}  // namespace

void print_gemm(const GemmBench& bench) {
  print(fmt::format("\nweight {} x {}, {} tokens\n{}{}", bench.shape.outputs, bench.shape.inputs,
                    bench.tokens, dense_rows(bench), packed_rows(bench)));
}

JsonValue json_of(const GemmBench& bench) {
  JsonArray dense, packed;
  for (const DenseProduct& product : bench.dense)
    dense.push_back(JsonObject{{"product", product.name},
                               {"own_ms", 1e3 * product.own_seconds},
                               {"library_ms", optional_json_ms(product.plain_call_seconds)},
                               {"flops", product.flops}});
  for (const PackedProduct& product : bench.packed)
    packed.push_back(JsonObject{{"product", product.product},
                                {"pattern", product.pattern},
                                {"density", product.density},
                                {"dense_ms", 1e3 * product.dense_seconds},
                                {"packed_ms", 1e3 * product.packed_seconds},
                                {"gain", json_of(product.gain)},
                                {"search_ms", optional_json_ms(search_of(bench, product.pattern))},
                                {"pack_ms", optional_json_ms(product.pack_seconds)},
                                {"repack_ms", optional_json_ms(product.repack_seconds)}});
  return JsonObject{{"outputs", bench.shape.outputs},
                    {"inputs", bench.shape.inputs},
                    {"tokens", bench.tokens},
                    {"dense", dense},
                    {"packed", packed}};
}

}  // namespace twill::cli
