// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/eval_report.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "cli/screen/text_format.h"
#include "io/json/json_value.h"

namespace twill::cli {
namespace {

std::string row(const std::string& what, std::int64_t count, const std::string& metric,
                const std::string& value, const std::string& error) {
  return fmt::format("{:<24} {:>9}  {:<14} {:>10}{}\n", what, count, metric, value, error);
}

// Four decimals, but the perplexity of a bad model may have twenty digits in front of them.
std::string decimals(double value) {
  return value < 1e6 ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

std::string text_rows(const NamedTextLoss& text) {
  const TextLoss& loss = text.loss;
  return row(text.file, loss.tokens, "loss", fmt::format("{:.6f}", loss.loss), "") +
         row("", loss.tokens, "perplexity", fmt::format("{:.4f}", loss.perplexity), "") +
         row("", loss.bytes, "bits per byte", fmt::format("{:.4f}", loss.bits_per_byte), "");
}

std::string task_rows(const TaskResult& task) {
  std::string rows;
  for (const Metric& metric : task.metrics) {
    const double error = metric.standard_error;
    rows += row(rows.empty() ? task.task : "", static_cast<std::int64_t>(task.examples.size()),
                metric.name, decimals(metric.value),
                std::isfinite(error) ? "  ± " + decimals(error) : "");
  }
  return rows;
}

JsonValue text_json(const NamedTextLoss& text) {
  return JsonObject{{"file", text.file},
                    {"tokens", text.loss.tokens},
                    {"bytes", text.loss.bytes},
                    {"loss", text.loss.loss},
                    {"perplexity", text.loss.perplexity},
                    {"bits_per_byte", text.loss.bits_per_byte}};
}

JsonValue task_json(const TaskResult& task) {
  JsonObject metrics;
  for (const Metric& metric : task.metrics)
    metrics.emplace_back(metric.name, JsonObject{{"value", metric.value},
                                                 {"standard_error", metric.standard_error}});
  return JsonObject{{"task", task.task},
                    {"file", task.file},
                    {"examples", static_cast<std::int64_t>(task.examples.size())},
                    {"metrics", std::move(metrics)}};
}

JsonValue example_json(const TaskResult& task, const ExampleResult& example) {
  JsonArray likelihoods, greedy, tokens;
  for (const Likelihood& likelihood : example.likelihoods) {
    likelihoods.emplace_back(likelihood.log_likelihood);
    greedy.emplace_back(likelihood.greedy);
    tokens.emplace_back(likelihood.tokens);
  }
  JsonObject object{{"task", task.task},
                    {"line", example.line},
                    {"log_likelihoods", std::move(likelihoods)},
                    {"greedy", std::move(greedy)},
                    {"tokens", std::move(tokens)}};
  if (example.likelihoods.size() < 2) return object;
  object.emplace_back("choice", example.choice);
  object.emplace_back("choice_norm", example.choice_norm);
  object.emplace_back("label", example.label);
  return object;
}

}  // namespace

std::string table_of(const EvalReport& report) {
  std::string table = fmt::format("{:<24} {:>9}  {:<14} {:>10}\n", "", "n", "metric", "value");
  for (const NamedTextLoss& text : report.texts) table += text_rows(text);
  for (const TaskResult& task : report.tasks) table += task_rows(task);
  return table;
}

std::string json_of(const EvalReport& report) {
  JsonArray texts, tasks;
  for (const NamedTextLoss& text : report.texts) texts.push_back(text_json(text));
  for (const TaskResult& task : report.tasks) tasks.push_back(task_json(task));
  return to_json(JsonObject{
      {"model", report.model}, {"texts", std::move(texts)}, {"tasks", std::move(tasks)}});
}

std::string details_of(const EvalReport& report) {
  std::string lines;
  for (const TaskResult& task : report.tasks)
    for (const ExampleResult& example : task.examples)
      lines += to_json_line(example_json(task, example)) + "\n";
  return lines;
}

EvalProgressLine::EvalProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

EvalProgressLine::~EvalProgressLine() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

EvalProgress EvalProgressLine::of(std::string name) {
  started_ = std::chrono::steady_clock::now();
  return [this, name = std::move(name)](double share) { show(name, share); };
}

void EvalProgressLine::show(const std::string& name, double share) {
  if (!terminal_ || share <= 0.0) return;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started_;
  const double left = spent.count() * (1.0 - share) / share;
  std::fputs(
      fmt::format("\r\033[K{}  {:.0f} %  {} left", name, 100.0 * share, format_duration(left))
          .c_str(),
      stderr);
  std::fflush(stderr);
}

}  // namespace twill::cli
