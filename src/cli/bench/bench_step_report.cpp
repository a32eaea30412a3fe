// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cli/bench/bench_step.h"
#include "cli/planning/explain_report.h"
#include "cli/screen/text_format.h"
#include "io/json/json_value.h"

namespace twill::cli {
namespace {

// FLOP/s as they are read best: a GPU has hundreds of TFLOP/s, two cores less than one.
struct FlopUnit {
  const char* name;
  double size;
};
FlopUnit unit_of(const StepBench& bench) {
  const double roof = std::max(bench.roof.product, bench.peak_flops);
  return roof >= 1e13 ? FlopUnit{"TFLOP/s", 1e12} : FlopUnit{"GFLOP/s", 1e9};
}

// Empty where the whole is not known.
std::string percent(double part, double whole) {
  return whole > 0.0 ? fmt::format("{:.0f}%", 100.0 * part / whole) : std::string();
}

void print_row(std::string row) {
  row.erase(row.find_last_not_of(' ') + 1);
  fmt::print("{}\n", row);
}

struct OpRow {
  std::string name;
  OpTime time;
};

// The longest first.
std::vector<OpRow> sorted_ops(const StepBench& bench) {
  std::vector<OpRow> rows;
  for (const auto& [name, time] : bench.ops) rows.push_back({name, time});
  std::ranges::sort(rows, std::greater{}, [](const OpRow& row) { return row.time.seconds; });
  return rows;
}

void print_op(const StepBench& bench, const OpRow& row) {
  const double seconds = row.time.seconds;
  std::string text = fmt::format("{:<24}{:>6}{:>12.3f}{:>8.1f}%", row.name, row.time.calls,
                                 1e3 * seconds, 100.0 * seconds / bench.median());
  if (seconds > 0.0 && row.time.flops > 0.0) {
    const double rate = row.time.flops / seconds;
    text += fmt::format("{:>19}{:>10.4g}{:>9}{:>9}", "", rate / unit_of(bench).size,
                        percent(rate, bench.roof.product), percent(rate, bench.peak_flops));
  } else if (seconds > 0.0 && row.time.bytes > 0.0) {
    const double rate = row.time.bytes / seconds;
    text += fmt::format("{:>10.4g}{:>9}", rate / 1e9, percent(rate, bench.roof.copy));
  }
  print_row(std::move(text));
}

void print_ops(const StepBench& bench) {
  print_row(fmt::format("{:<24}{:>6}{:>12}{:>9}{:>10}{:>9}{:>10}{:>9}{:>9}", "op", "calls", "ms",
                        "of step", "GB/s", "of copy", unit_of(bench).name, "of roof",
                        bench.peak_flops > 0.0 ? "of peak" : ""));
  OpTime all;
  for (const OpRow& row : sorted_ops(bench)) {
    print_op(bench, row);
    all.calls += row.time.calls;
    all.seconds += row.time.seconds;
  }
  print_op(bench, {"all of them", all});
}

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return "gelu";
    case Activation::kRelu2:
      return "relu2";
    case Activation::kSwiglu:
    case Activation::kGeglu:
    case Activation::kGegluTanh:
      break;  // no product's epilogue
  }
  return "gate";
}

// "NT +bias +gelu": transposed operands, then all that the call does besides.
std::string form_of(const GemmArgs& args) {
  std::string form{args.trans_a ? 'T' : 'N', args.trans_b ? 'T' : 'N'};
  if (args.bias) form += " +bias";
  if (args.addend) form += " +residual";
  if (args.accumulate) form += " +acc";
  if (args.epilogue != GemmEpilogue::kNone) form += fmt::format(" +{}", name_of(args.activation));
  if (args.epilogue == GemmEpilogue::kActivationGradient) form += '\'';
  return form;
}

std::string types_of(const GemmArgs& args) {
  const std::string from = twill::name_of(args.a.dtype()), to = twill::name_of(args.c.dtype());
  return from == to ? from : from + "->" + to;
}

void print_products(const StepBench& bench) {
  fmt::print("\n{:<26}{:<22}{:<11}{:>6}{:>10}{:>10}{:>9}{:>15}\n", "product (M x N x K)", "form",
             "types", "count", "ms", unit_of(bench).name, "of roof", "of plain call");
  for (const ProductTime& product : bench.products) {
    const GemmArgs& args = product.args;
    const double rate = product.flops() / product.seconds;
    const double plain = product.plain_seconds;
    print_row(fmt::format("{:<26}{:<22}{:<11}{:>6}{:>10.3f}{:>10.4g}{:>9}{:>15}",
                          fmt::format("{} x {} x {}", args.m(), args.n(), args.k()), form_of(args),
                          types_of(args), product.count, 1e3 * product.seconds,
                          rate / unit_of(bench).size, percent(rate, bench.roof.product),
                          plain > 0.0 ? percent(plain, product.seconds) : ""));
  }
}

void print_kernels(const StepBench& bench) {
  fmt::print("\n{:<28}{:<12}{:>6}  {}\n", "site", "product", "count", "kernel");
  for (const NamedProduct& product : bench.kernels)
    fmt::print("{:<28}{:<12}{:>6}  {}\n", product.site, product.product, product.count,
               kernel_text(product.verdict));
}

void print_roofs(const StepBench& bench) {
  const FlopUnit unit = unit_of(bench);
  const double rate = bench.model_flops / bench.median();
  if (bench.roof.copy > 0.0)
    fmt::print("copy roof     {:>10.4g} GB/s   read and written, measured\n",
               bench.roof.copy / 1e9);
  if (bench.roof.product > 0.0)
    fmt::print("product roof  {:>10.4g} {}   the library's large square product, measured\n",
               bench.roof.product / unit.size, unit.name);
  if (bench.roof.product > 0.0)
    fmt::print("of roof       {:>9.1f}%   the model's {:.4g} {} (full attention, head counted)\n",
               100.0 * rate / bench.roof.product, rate / unit.size, unit.name);
  if (bench.peak_flops > 0.0)
    fmt::print("MFU           {:>9.1f}%   the same of {:.4g} {}, dense bf16 by the datasheet\n",
               100.0 * rate / bench.peak_flops, bench.peak_flops / unit.size, unit.name);
}

void print_memory(const StepBench& bench) {
  const double excess =
      static_cast<double>(bench.used_bytes) / static_cast<double>(bench.table_bytes) - 1.0;
  fmt::print("memory table  {:>10}\n{:<14}{:>10}   {:+.1f}%{}\n", format_bytes(bench.table_bytes),
             bench.on_device ? "on the GPU" : "peak RSS", format_bytes(bench.used_bytes),
             100.0 * excess, bench.on_device ? ", taken since the model began" : "");
  if (bench.readings.memory_bytes)
    fmt::print("GPU in use    {:>10}   with its context and other processes\n",
               format_bytes(*bench.readings.memory_bytes));
}

void print_readings(const StepBench& bench) {
  if (!bench.readings.power_watts) return;
  fmt::print("power         {:>8.0f} W   mean of the last second", *bench.readings.power_watts);
  if (bench.readings.clock_hz) fmt::print(", at {:.0f} MHz", *bench.readings.clock_hz / 1e6);
  fmt::print("\n");
}

void print_summary(const StepBench& bench) {
  fmt::print("\nstep          {:>10.1f} ms   median of {} ({:.1f} to {:.1f})\n",
             1e3 * bench.median(), bench.seconds.size(), 1e3 * bench.seconds.front(),
             1e3 * bench.seconds.back());
  if (!bench.products.empty()) {
    fmt::print(
        "GEMM floor    {:>10.1f} ms   its matrix products alone, best of {} warm calls each\n",
        1e3 * bench.floor(), bench.product_repeats);
    fmt::print("step / floor  {:>10.3f}\n", bench.median() / bench.floor());
  }
  fmt::print("tokens/s      {:>10.0f}\n", static_cast<double>(bench.tokens) / bench.median());
  print_roofs(bench);
  print_memory(bench);
  print_readings(bench);
}

// null where a figure is not known.
JsonValue known(double value) { return value > 0.0 ? JsonValue(value) : JsonValue(); }

JsonArray op_rows(const StepBench& bench) {
  JsonArray rows;
  for (const OpRow& row : sorted_ops(bench))
    rows.push_back(JsonObject{{"op", row.name},
                              {"calls", row.time.calls},
                              {"ms", 1e3 * row.time.seconds},
                              {"bytes", row.time.bytes},
                              {"flops", row.time.flops}});
  return rows;
}

JsonArray product_rows(const StepBench& bench) {
  JsonArray rows;
  for (const ProductTime& product : bench.products)
    rows.push_back(JsonObject{{"m", product.args.m()},
                              {"n", product.args.n()},
                              {"k", product.args.k()},
                              {"form", form_of(product.args)},
                              {"types", types_of(product.args)},
                              {"count", product.count},
                              {"ms", 1e3 * product.seconds},
                              {"plain_ms", known(1e3 * product.plain_seconds)}});
  return rows;
}

JsonArray kernel_rows(const StepBench& bench) {
  JsonArray rows;
  for (const NamedProduct& product : bench.kernels)
    rows.push_back(JsonObject{{"site", product.site},
                              {"product", product.product},
                              {"count", product.count},
                              {"kernel", product.verdict.kernel},
                              {"why_not_quicker", product.verdict.reason}});
  return rows;
}

}  // namespace

void print_report(const StepBench& bench) {
  if (!bench.ops.empty()) print_ops(bench);
  if (!bench.products.empty()) print_products(bench);
  if (!bench.kernels.empty()) print_kernels(bench);
  print_summary(bench);
}

std::string json_report(const StepBench& bench) {
  double worst = std::numeric_limits<double>::infinity();
  for (const ProductTime& product : bench.products)
    if (product.plain_seconds > 0.0)
      worst = std::min(worst, product.plain_seconds / product.seconds);
  const double rate = bench.model_flops / bench.median();
  const auto share = [&](double whole) {
    return whole > 0.0 ? JsonValue(rate / whole) : JsonValue();
  };
  JsonObject report{{"step_ms", 1e3 * bench.median()},
                    {"floor_ms", 1e3 * bench.floor()},
                    {"step_over_floor", bench.median() / bench.floor()},
                    {"slowest_product_over_plain", worst},
                    {"tokens_per_s", static_cast<double>(bench.tokens) / bench.median()},
                    {"model_flops", bench.model_flops},
                    {"mfu", share(bench.peak_flops)},
                    {"roof_share", share(bench.roof.product)},
                    {"roof", JsonObject{{"copy_bytes_per_s", known(bench.roof.copy)},
                                        {"product_flops_per_s", known(bench.roof.product)},
                                        {"peak_flops_per_s", known(bench.peak_flops)}}},
                    {"memory_table_bytes", bench.table_bytes},
                    {bench.on_device ? "gpu_taken_bytes" : "peak_rss_bytes", bench.used_bytes}};
  const DeviceReadings& readings = bench.readings;
  if (readings.memory_bytes) report.emplace_back("gpu_memory_bytes", *readings.memory_bytes);
  if (readings.power_watts) report.emplace_back("power_watts", *readings.power_watts);
  if (readings.clock_hz) report.emplace_back("clock_hz", *readings.clock_hz);
  report.emplace_back("ops", op_rows(bench));
  report.emplace_back("products", product_rows(bench));
  report.emplace_back("kernels", kernel_rows(bench));
  return to_json(report);
}

}  // namespace twill::cli
