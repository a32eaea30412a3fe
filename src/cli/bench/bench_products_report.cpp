// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include <fmt/format.h>

#include "cli/bench/bench_products.h"

namespace twill::cli {
namespace {

std::string ms_cell(double seconds) {
  return seconds > 0.0 ? fmt::format("{:.4f}", 1e3 * seconds) : "-";
}
std::string rate_cell(double flops, double seconds) {
  return seconds > 0.0 ? fmt::format("{:.4g}", flops / seconds / 1e12) : "-";
}
// "1.234 ±0.012": half of the 95 % interval.
std::string ratio_cell(const PairedRatio& ratio) {
  if (ratio.pairs == 0) return "-";
  return fmt::format("{:.3f} ±{:.3f}", ratio.median, 0.5 * (ratio.high - ratio.low));
}

std::string product_rows(const ProductBench& bench) {
  std::string text = fmt::format("{:<9}{:<18}{:>13}{:>9}{:>10}{:>9}{:>15}{:>15}{:>9}{:>15}\n",
                                 "product", "pattern", "cuBLASLt, ms", "TFLOP/s", "2:4, ms",
                                 "TFLOP/s", "gain", "cuSPARSELt, ms", "TFLOP/s", "its / ours");
  for (const ProductTimes& times : bench.products) {
    const PeerTimes& peer = times.peer;
    text += fmt::format("{:<9}{:<18}{:>13}{:>9}{:>10}{:>9}{:>15}{:>15}{:>9}{:>15}\n", times.product,
                        times.pattern, ms_cell(times.dense_seconds),
                        rate_cell(times.flops, times.dense_seconds), ms_cell(times.packed_seconds),
                        rate_cell(times.flops, times.packed_seconds), ratio_cell(times.gain),
                        ms_cell(peer.seconds), rate_cell(times.flops, peer.seconds),
                        ratio_cell(peer.ratio));
  }
  for (const ProductTimes& times : bench.products) {
    const PeerTimes& peer = times.peer;
    if (!peer.description.empty())
      text += fmt::format("  {}: {}; compresses in {} ms; result transposed {} ms\n", times.product,
                          peer.description, ms_cell(peer.compress_seconds),
                          ms_cell(peer.transposed_seconds));
    if (!peer.note.empty()) text += fmt::format("  {}: {}\n", times.product, peer.note);
    if (!peer.reason.empty())
      text += fmt::format("  {}: no cuSPARSELt: {}\n", times.product, peer.reason);
  }
  return text;
}

std::string overhead_rows(const ProductBench& bench, double copy) {
  std::string text = fmt::format("{:<37}{:>10}{:>10}{:>10}\n", "besides", "ms", "GB/s", "of copy");
  for (const SparseOverhead& overhead : bench.overheads)
    text += fmt::format("{:<37}{:>10}{:>10.4g}{:>10}\n", overhead.work, ms_cell(overhead.seconds),
                        overhead.bytes / overhead.seconds / 1e9,
                        copy > 0.0 ? fmt::format("{:.0f}%", 100.0 * overhead.share_of(copy)) : "");
  return text;
}

std::string readings_line(const DeviceReadings& readings) {
  if (!readings.clock_hz || !readings.power_watts) return {};
  return fmt::format("{:.0f} MHz, {:.0f} W behind the products\n", *readings.clock_hz / 1e6,
                     *readings.power_watts);
}

std::string means_row(const char* name, const ProductMeans& means) {
  if (means.products == 0) return {};
  std::string text = fmt::format("{:<9}{:>4} products: gain {:.3f}, least {:.3f}", name,
                                 means.products, means.gain, means.least_gain);
  if (means.peers > 0)
    text += fmt::format("; cuSPARSELt's time over ours {:.3f}, least {:.3f}", means.ratio,
                        means.least_ratio);
  return text + "\n";
}

// null where there is nothing of the kind.
JsonValue known_figure(double value) {
  if (value > 0.0) return value;
  return {};
}
JsonValue known_ms(double seconds) { return known_figure(1e3 * seconds); }
JsonValue known_text(const std::string& text) {
  if (!text.empty()) return text;
  return {};
}
JsonValue known_ratio(const PairedRatio& ratio) {
  if (ratio.pairs > 0) return json_of(ratio);
  return {};
}
JsonValue known_reading(const std::optional<double>& value) {
  if (value) return *value;
  return {};
}

JsonValue json_of(const ProductTimes& times) {
  const PeerTimes& peer = times.peer;
  return JsonObject{
      {"product", times.product},
      {"pattern", times.pattern},
      {"flops", times.flops},
      {"dense_ms", 1e3 * times.dense_seconds},
      {"first_guess_ms", known_ms(times.first_guess_seconds)},
      {"packed_ms", 1e3 * times.packed_seconds},
      {"gain", known_ratio(times.gain)},
      {"cusparselt", JsonObject{{"ms", known_ms(peer.seconds)},
                                {"time_over_ours", known_ratio(peer.ratio)},
                                {"transposed_result_ms", known_ms(peer.transposed_seconds)},
                                {"compress_ms", known_ms(peer.compress_seconds)},
                                {"algorithm", known_text(peer.description)},
                                {"note", known_text(peer.note)},
                                {"reason", known_text(peer.reason)}}}};
}

}  // namespace

std::string report_of(const ProductBench& bench, double copy) {
  const ProductCase& problem = bench.problem;
  return fmt::format("\nweight {} x {}, {} tokens\n{}{}{}", problem.shape.outputs,
                     problem.shape.inputs, problem.tokens, product_rows(bench),
                     readings_line(bench.readings), overhead_rows(bench, copy));
}

std::string means_report(const std::vector<ProductBench>& benches) {
  return fmt::format(
      "\ngeometric means\n{}{}{}", means_row("forward", means_of(benches, "forward")),
      means_row("wgrad", means_of(benches, "wgrad")), means_row("all", means_of(benches)));
}

JsonValue json_of(const ProductBench& bench, double copy) {
  JsonArray products, overheads;
  for (const ProductTimes& times : bench.products) products.push_back(json_of(times));
  for (const SparseOverhead& overhead : bench.overheads)
    overheads.push_back(JsonObject{{"work", overhead.work},
                                   {"ms", 1e3 * overhead.seconds},
                                   {"bytes", overhead.bytes},
                                   {"share_of_copy", known_figure(overhead.share_of(copy))}});
  return JsonObject{{"outputs", bench.problem.shape.outputs},
                    {"inputs", bench.problem.shape.inputs},
                    {"tokens", bench.problem.tokens},
                    {"products", products},
                    {"overheads", overheads},
                    {"clock_hz", known_reading(bench.readings.clock_hz)},
                    {"power_watts", known_reading(bench.readings.power_watts)}};
}

JsonValue json_of(const ProductMeans& means) {
  return JsonObject{{"products", means.products},
                    {"gain", known_figure(means.gain)},
                    {"least_gain", known_figure(means.least_gain)},
                    {"cusparselt_products", means.peers},
                    {"cusparselt_time_over_ours", known_figure(means.ratio)},
                    {"least_cusparselt_time_over_ours", known_figure(means.least_ratio)}};
}

}  // namespace twill::cli
