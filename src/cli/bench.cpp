// SPDX-License-Identifier: Apache-2.0
// twill bench step: the time of a training step, op by op, against the floor set by its own
// products.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/commands.h"
#include "cli/text_format.h"
#include "cli/words.h"
#include "data/corpus.h"
#include "data/tokenizer.h"
#include "io/atomic_file.h"
#include "io/json_lines.h"
#include "train/device_choice.h"
#include "train/memory_use.h"
#include "train/step_profile.h"
#include "train/trainer.h"
#include "train/training_run.h"

namespace twill::cli {
namespace {

// Enough for caches, page faults and just-in-time kernels to settle.
constexpr int kWarmupSteps = 3;
constexpr int kProductRepeats = 5;

struct StepBench {
  explicit StepBench(const Context& context) : profile(context) {}

  std::vector<double> seconds;  // of each step, sorted
  StepProfile profile;
  std::vector<ProductTime> products;

  double median() const { return seconds[seconds.size() / 2]; }
  double floor() const { return floor_seconds(products); }
};

void measure(Context& context, Trainer& trainer, std::int64_t steps, StepBench& bench) {
  for (int step = 0; step < kWarmupSteps; ++step) trainer.step();
  for (std::int64_t step = 0; step < steps; ++step) bench.seconds.push_back(trainer.step().seconds);
  std::ranges::sort(bench.seconds);
  context.observer = &bench.profile;
  trainer.step();
  context.observer = nullptr;
  bench.products = bench.profile.measure_products(context, kProductRepeats, true);
}

void print_ops(const StepBench& bench) {
  std::vector<std::pair<std::string, OpTime>> ops(bench.profile.ops().begin(),
                                                  bench.profile.ops().end());
  std::ranges::sort(ops, std::greater{}, [](const auto& op) { return op.second.seconds; });
  double sum = 0.0;
  for (const auto& [name, time] : ops) sum += time.seconds;
  fmt::print("{:<22}{:>8}{:>12}{:>9}\n", "op", "calls", "ms", "share");
  for (const auto& [name, time] : ops)
    fmt::print("{:<22}{:>8}{:>12.2f}{:>8.1f}%\n", name, time.calls, 1e3 * time.seconds,
               100.0 * time.seconds / sum);
}

std::string form_of(const GemmArgs& args) {
  return fmt::format("{}{}{}{}", args.trans_a ? 'T' : 'N', args.trans_b ? 'T' : 'N',
                     args.bias ? " +bias" : "", args.addend ? " +residual" : "");
}

void print_products(const StepBench& bench) {
  fmt::print("\n{:<26}{:<18}{:>6}{:>10}{:>12}{:>15}\n", "product (M x N x K)", "form", "count",
             "ms", "GFLOP/s", "of plain call");
  for (const ProductTime& product : bench.products) {
    const GemmArgs& args = product.args;
    fmt::print("{:<26}{:<18}{:>6}{:>10.2f}{:>12.0f}{:>11.0f}%\n",
               fmt::format("{} x {} x {}", args.m(), args.n(), args.k()), form_of(args),
               product.count, 1e3 * product.seconds, product.flops() / product.seconds / 1e9,
               100.0 * product.plain_seconds / product.seconds);
  }
}

void print_summary(const StepBench& bench, std::int64_t tokens, std::int64_t table_bytes) {
  fmt::print("\nstep          {:>10.1f} ms   median of {} ({:.1f} to {:.1f})\n",
             1e3 * bench.median(), bench.seconds.size(), 1e3 * bench.seconds.front(),
             1e3 * bench.seconds.back());
  fmt::print("GEMM floor    {:>10.1f} ms   its matrix products alone, best of {} warm calls each\n",
             1e3 * bench.floor(), kProductRepeats);
  fmt::print("step / floor  {:>10.3f}\n", bench.median() / bench.floor());
  fmt::print("tokens/s      {:>10.0f}\n", static_cast<double>(tokens) / bench.median());
  fmt::print(
      "memory table  {:>10}\npeak RSS      {:>10}   {:+.1f}%\n", format_bytes(table_bytes),
      format_bytes(peak_resident_bytes()),
      100.0 *
          (static_cast<double>(peak_resident_bytes()) / static_cast<double>(table_bytes) - 1.0));
}

void write_json(const std::string& path, const StepBench& bench, std::int64_t table_bytes) {
  double worst = 1e9;
  for (const ProductTime& product : bench.products)
    if (product.plain_seconds > 0.0)
      worst = std::min(worst, product.plain_seconds / product.seconds);
  write_file(path, JsonLine()
                           .add("step_ms", 1e3 * bench.median())
                           .add("floor_ms", 1e3 * bench.floor())
                           .add("step_over_floor", bench.median() / bench.floor())
                           .add("slowest_product_over_plain", worst)
                           .add("memory_table_bytes", table_bytes)
                           .add("peak_rss_bytes", peak_resident_bytes())
                           .text() +
                       "\n");
}

int bench_step(const BenchCommand& command) {
  Words words = split_words(command.words);
  // Without a model of the caller's choice: the one our own bar is set for.
  const bool own_model = std::ranges::any_of(
      words.overrides, [](const std::string& word) { return word.starts_with("model"); });
  if (words.config_file.empty() && !own_model)
    words.overrides.insert(words.overrides.begin(), "model=small");
  RunConfig config = read_run_config(words.config_file, words.overrides);
  config.recipe.health.every = 0;  // samples are no part of a step
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(data_tokenizer(config.data));
  config = resolved(config, tokenizer->vocab_size());
  const Corpus corpus =
      load_corpus(config.data, *tokenizer, {config.train.micro_batch, config.sequence()},
                  static_cast<int>(config.threads));
  Context context = open_context(config);
  Trainer trainer(context, config, corpus);
  std::int64_t table_bytes = resident_bytes();
  for (const MemoryLine& line : trainer.memory_table()) table_bytes += line.bytes;
  fmt::print("{}: {} parameters, {} x {} tokens, {} threads, {}\n\n", config.model.name,
             format_count(static_cast<double>(num_parameters(config.model))),
             config.train.micro_batch, config.sequence(), context.device().num_threads,
             context.kernels().name);
  trainer.begin();
  StepBench bench(context);
  measure(context, trainer, command.steps, bench);
  print_ops(bench);
  print_products(bench);
  print_summary(bench, config.accumulation() * config.micro_batch_tokens(), table_bytes);
  if (!command.json.empty()) write_json(command.json, bench, table_bytes);
  return kDone;
}

}  // namespace

int run_bench(const BenchCommand& command) {
  if (command.what == "tokenizer") return bench_tokenizer(command);
  require(
      command.what == "step",
      "unknown benchmark '{}'; expected step, tokenizer, or op, which `./twill bench op` builds "
      "and runs",
      command.what);
  return bench_step(command);
}

}  // namespace twill::cli
