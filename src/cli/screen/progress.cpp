// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/progress.h"

#include <cmath>

#include <fmt/format.h>

#include "cli/planning/plan_report.h"
#include "cli/screen/terminal.h"
#include "cli/screen/text_format.h"
#include "train/run/run_folder.h"
#include "train/run/sparsity_records.h"

namespace twill::cli {
namespace {

// "fst, as written: 8 of 8 matrices 2:4-transposable; MVUE in all"
std::string recipe_text(const RunConfig& config, const std::string& runs) {
  if (config.recipe.is_dense()) return config.recipe.name;
  const bool is_fastest = config.recipe.execution == Execution::kFastest;
  return fmt::format("{}, {}: {}", config.recipe.name,
                     is_fastest ? "what is fastest here" : "as written", runs);
}

}  // namespace

ProgressView::~ProgressView() {
  if (moving_) print("\n");
}

void ProgressView::on_planning(std::int64_t done, std::int64_t all) {
  planning_.show("measuring how each layer runs best", done, all);
}

void ProgressView::on_plan(const Plan& plan) {
  packs_ = plan.is_packed();
  print(plan_lines(plan) + "\n");
}

void ProgressView::on_begin(const RunConfig& config, const RunFacts& facts) {
  planning_.clear();
  folder_ = facts.folder;
  steps_ = config.train.steps;
  log_every_ = config.log.every;
  step_tokens_ = config.accumulation() * config.micro_batch_tokens();
  started_ = std::chrono::steady_clock::now();
  resumed_ = facts.resumed_from;
  began_elsewhere_ = facts.first_validation_loss.has_value();
  first_validation_ = facts.first_validation_loss.value_or(0.0);
  const bool builtin = config.data.source.empty() && config.data.train == DataConfig().train;
  if (builtin) example_prompt_ = " --prompt \"Tale: The \"";
  const auto count = [](std::int64_t number) { return format_count(static_cast<double>(number)); };
  print(fmt::format("run      {}{}\n", facts.folder,
                    resumed_.empty() ? "" : "  (resumed from " + resumed_ + ")"));
  print(fmt::format(
      "model    {} · {} · {} parameters · {} layers, width {}, {} heads, context {}\n",
      config.model.name, config.model.family, count(facts.num_parameters), config.model.layers,
      config.model.width, config.model.heads, config.model.context));
  recipe_ = recipe_text(config, facts.runs);
  print(fmt::format("recipe   {}\n", recipe_));
  print(fmt::format("data     {} tokens to learn from, {} to validate on{}\n",
                    count(facts.train_tokens), count(facts.validation_tokens),
                    facts.validated_by.empty() ? "" : ": " + facts.validated_by));
  if (facts.sources.size() > 1)
    for (const SourceFacts& source : facts.sources)
      print(fmt::format("  {:>5.1f}%  {}: {} tokens, seen {:.2f} times\n", 100.0 * source.share,
                        source.name, count(source.tokens), source.epochs));
  for (const std::string& note : facts.data_notes) print(fmt::format("{:<9}{}\n", "", note));
  print(fmt::format("device   {} · {} threads\n", facts.backend, facts.num_threads));
  print(fmt::format("steps    {} of {} tokens\n", steps_, count(step_tokens_)));
  print(fmt::format("rates    lr {}, warm-up {} steps, {}; betas {} and {}, decay {}\n",
                    config.optimizer.lr, config.schedule.warmup_steps, config.schedule.kind,
                    config.optimizer.beta1, config.optimizer.beta2, config.optimizer.weight_decay));
  print(format_memory(facts.memory, facts.dense_memory) + "\n");
}

double ProgressView::seconds_left(std::int64_t step) const {
  return step_seconds_ * static_cast<double>(steps_ - step);
}

std::vector<std::string> ProgressView::step_fields(const StepResult& result,
                                                   const StepShares& shares) const {
  const double tokens_per_s = static_cast<double>(step_tokens_) / result.seconds;
  std::vector<std::string> fields{
      fmt::format("loss {:.4f}", result.loss), "ETA " + format_duration(seconds_left(result.step)),
      format_count(tokens_per_s) + " tok/s", fmt::format("lr {:.2e}", result.lr),
      fmt::format("|g| {:.2f}", result.grad_norm)};
  if (!health_.empty()) fields.insert(fields.begin() + 1, health_);
  if (shares.mfu > 0.0) fields.push_back(fmt::format("MFU {:.1f}%", 100.0 * shares.mfu));
  if (shares.floor > 0.0)
    fields.push_back(fmt::format("{:.0f}% of GEMM floor", 100.0 * shares.floor));
  if (shares.roof > 0.0) fields.push_back(fmt::format("{:.0f}% of roof", 100.0 * shares.roof));
  if (shares.readings.memory_bytes)
    fields.push_back("GPU " + format_bytes(*shares.readings.memory_bytes));
  if (shares.readings.power_watts)
    fields.push_back(fmt::format("{:.0f} W", *shares.readings.power_watts));
  if (!result.finite) fields.insert(fields.begin() + 1, "not finite: update skipped");
  return fields;
}

void ProgressView::on_step(const StepResult& result, const StepShares& shares) {
  if (first_step_ == 0) first_step_ = result.step;
  last_step_ = result.step;
  // Smoothed over about ten steps, so that the ETA does not jump.
  step_seconds_ =
      step_seconds_ == 0.0 ? result.seconds : 0.9 * step_seconds_ + 0.1 * result.seconds;
  const std::vector<std::string> fields = step_fields(result, shares);
  const std::string head = fmt::format("{}/{}", result.step, steps_);
  if (!terminal_) {
    if (result.step == first_step_ || result.step % log_every_ == 0 || result.step == steps_)
      print(fmt::format("step {}  {}\n", head, fitting(fields, std::string::npos)));
    return;
  }
  const std::size_t width = terminal_width();
  const int cells = width >= 110 ? 24 : 10;
  const double share = static_cast<double>(result.step) / static_cast<double>(steps_);
  const std::size_t used = head.size() + 2 + static_cast<std::size_t>(cells) + 1;
  print(fmt::format("\r\033[K{} {} {}", head, bar(share, cells),
                    fitting(fields, width > used ? width - used : 0)));
  moving_ = true;
}

void ProgressView::print_line(const std::string& line) {
  print((moving_ ? "\r\033[K" : "") + line + "\n");
  moving_ = false;
}

void ProgressView::on_evaluation(std::int64_t step, double validation_loss) {
  if (!validated_ && !began_elsewhere_) first_validation_ = validation_loss;
  validated_ = true;
  last_validation_ = validation_loss;
  print_line(fmt::format("step {:>5}  validation loss {:.4f}  perplexity {:.2f}", step,
                         validation_loss, std::exp(validation_loss)));
}

void ProgressView::on_sparse_evaluation(double master, double as_trained) {
  print_line(
      fmt::format("            plain weights {:.4f}  as trained {:.4f}", master, as_trained));
}

void ProgressView::on_health(const HealthSample& sample) {
  health_.clear();
  // Told by a warning when it was raised; here for the summary at the end.
  if (!sample.alarm.empty())
    alarms_.push_back(fmt::format("step {:>5}  ALARM  {}", sample.step, sample.alarm));
  if (sample.is_topology)
    health_ = fmt::format("density {:.3f}", sample.overall.density);
  else if (sample.has_mask)
    health_ = fmt::format("flips {:.4f}, kept {:.0f}%", sample.overall.flip_rate,
                          100.0 * sample.overall.kept_l1);
  if (!sample.ffns.empty())
    health_ += fmt::format("{}fire {:.0f}%", health_.empty() ? "" : ", ",
                           100.0 * sample.overall_ffn.activation_density);
}

void ProgressView::on_alarm(std::int64_t step, const std::string& what) {
  alarms_.push_back(fmt::format("step {:>5}  ALARM  {}", step, what));
  print_line(alarms_.back());
}

void ProgressView::on_phase(std::int64_t step, const std::string& what) {
  health_.clear();
  if (what == kDenseSinceAlarm) recipe_ += fmt::format("; {}", what);
  print_line(fmt::format("step {:>5}  phase: {}", step, what));
}

void ProgressView::on_flops(const Flops& flops) {
  const char* zeros = packs_ ? "packed products leave zeros out, the others multiply them"
                             : "masked execution multiplies the zeros too";
  // Where the plan has turned every layer off there are no zeros.
  const std::string note = flops.ratio() < 1.0 ? fmt::format(": {}", zeros) : std::string();
  print_line(
      fmt::format("\nFLOPs of the recipe: {:.3f} of dense ({:.2f} x fewer); without the head "
                  "{:.3f} ({:.2f} x). Counted, not timed{}.",
                  flops.ratio(), 1.0 / flops.ratio(), flops.ratio_without_head(),
                  1.0 / flops.ratio_without_head(), note));
}

void ProgressView::on_checkpoint(const std::string& path) {
  checkpoint_ = path;
  if (!terminal_) print_line("saved " + path);
}

void ProgressView::on_sample_begin() { print_line("\na sample of what it writes now:\n"); }

void ProgressView::on_sample(std::string_view text) { print(std::string(text)); }

void ProgressView::show_new_process(double saved_seconds) {
  print_line(
      fmt::format("going on in a new process: packed products leave this one at lower clocks, "
                  "which would cost {} more",
                  format_duration(saved_seconds)));
}

void ProgressView::on_end(bool interrupted) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  print_line("");
  for (const std::string& alarm : alarms_) print_line(alarm);
  if (interrupted) {
    print_line(checkpoint_.empty() ? "interrupted; nothing new to save since " + resumed_
                                   : "interrupted; saved " + checkpoint_);
    print_line(
        fmt::format("go on with   {} train --resume {}", command_name(), shell_quoted(folder_)));
    return;
  }
  if (last_step_ == 0) print_line("nothing left to do: the run has taken all its steps");
  print_line("trained " + recipe_);
  if (validated_)
    print_line(fmt::format("validation loss {:.4f} -> {:.4f}{} {}", first_validation_,
                           last_validation_, began_elsewhere_ ? "; since the resume" : " in",
                           format_duration(seconds)));
  print_line(fmt::format("sample more   {} sample {}{}", command_name(), shell_quoted(folder_),
                         example_prompt_));
  print_line(
      fmt::format("take it out   {} export {} --to hf DIR", command_name(), shell_quoted(folder_)));
}

}  // namespace twill::cli
