// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "cli/text_format.h"

namespace twill::cli {
namespace {

// 24 cells of eight steps each: fine enough to be seen moving.
std::string bar(double share) {
  constexpr int kCells = 24;
  constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * kCells * 8);
  std::string text;
  for (int cell = 0; cell < eighths / 8; ++cell) text += "█";
  text += kParts[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  return text + std::string(static_cast<std::size_t>(kCells - used), ' ');
}

}  // namespace

void ProgressView::on_begin(const RunConfig& config, const RunFacts& facts) {
  folder_ = facts.folder;
  steps_ = config.train.steps;
  log_every_ = config.log.every;
  step_tokens_ = config.accumulation() * config.micro_batch_tokens();
  started_ = std::chrono::steady_clock::now();
  fmt::print("run      {}{}\n", facts.folder,
             facts.resumed_from.empty() ? "" : "  (resumed from " + facts.resumed_from + ")");
  fmt::print("model    {} · {} · {} parameters · {} layers, width {}, {} heads, context {}\n",
             config.model.name, config.model.family,
             format_count(static_cast<double>(facts.num_parameters)), config.model.layers,
             config.model.width, config.model.heads, config.model.context);
  fmt::print("recipe   {}\n", config.recipe.name);
  fmt::print("data     {} tokens to learn from, {} to validate on\n",
             format_count(static_cast<double>(facts.train_tokens)),
             format_count(static_cast<double>(facts.validation_tokens)));
  fmt::print("device   {} · {} threads\n", facts.backend, facts.num_threads);
  fmt::print("steps    {} of {} tokens\n", steps_, format_count(static_cast<double>(step_tokens_)));
  fmt::print("memory\n{}\n", format_memory(facts.memory));
  std::fflush(stdout);
}

double ProgressView::seconds_left(std::int64_t step) const {
  return step_seconds_ * static_cast<double>(steps_ - step);
}

std::string ProgressView::step_line(const StepResult& result, double floor_share) const {
  const double tokens_per_s = static_cast<double>(step_tokens_) / result.seconds;
  const std::string floor =
      floor_share > 0.0 ? fmt::format("  {:.0f}% of GEMM floor", 100.0 * floor_share) : "";
  return fmt::format("loss {:.4f}  lr {:.2e}  |g| {:.2f}  {} tok/s{}  ETA {}{}", result.loss,
                     result.lr, result.grad_norm, format_count(tokens_per_s), floor,
                     format_duration(seconds_left(result.step)),
                     result.finite ? "" : "  not finite: update skipped");
}

void ProgressView::on_step(const StepResult& result, double floor_share) {
  if (first_step_ == 0) first_step_ = result.step;
  last_step_ = result.step;
  // Smoothed over about ten steps, so that the ETA does not jump.
  step_seconds_ =
      step_seconds_ == 0.0 ? result.seconds : 0.9 * step_seconds_ + 0.1 * result.seconds;
  const std::string line = step_line(result, floor_share);
  if (!terminal_) {
    if (result.step == first_step_ || result.step % log_every_ == 0 || result.step == steps_)
      fmt::print("step {}/{}  {}\n", result.step, steps_, line);
    std::fflush(stdout);
    return;
  }
  const double share = static_cast<double>(result.step) / static_cast<double>(steps_);
  fmt::print("\r\033[K{:>5}/{} {} {}", result.step, steps_, bar(share), line);
  std::fflush(stdout);
  moving_ = true;
}

void ProgressView::print_line(const std::string& line) {
  if (moving_) fmt::print("\r\033[K");
  moving_ = false;
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void ProgressView::on_evaluation(std::int64_t step, double validation_loss) {
  if (!validated_) first_validation_ = validation_loss;
  validated_ = true;
  last_validation_ = validation_loss;
  print_line(fmt::format("step {:>5}  validation loss {:.4f}  perplexity {:.2f}", step,
                         validation_loss, std::exp(validation_loss)));
}

void ProgressView::on_checkpoint(const std::string& path) {
  checkpoint_ = path;
  if (!terminal_) print_line("saved " + path);
}

void ProgressView::on_sample_begin() { print_line("\na sample of what it writes now:\n"); }

void ProgressView::on_sample(std::string_view text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

void ProgressView::on_end(bool interrupted) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  print_line("");
  if (interrupted) {
    print_line(fmt::format("interrupted at step {}; saved {}", last_step_, checkpoint_));
    print_line(fmt::format("go on with   {} train --resume {}", command_name(), folder_));
    return;
  }
  if (last_step_ == 0) print_line("nothing left to do: the run has taken all its steps");
  if (validated_)
    print_line(fmt::format("validation loss {:.4f} -> {:.4f} in {}", first_validation_,
                           last_validation_, format_duration(seconds)));
  print_line(
      fmt::format("sample more   {} sample {} --prompt \"Tale: The \"", command_name(), folder_));
}

}  // namespace twill::cli
