// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/stall_watch.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "io/json/json_value.h"

namespace twill {
namespace {

constexpr std::int64_t kShortestWindow = 50;
constexpr std::size_t kWindowsCompared = 3;
constexpr double kLeastErrors = 0.5;
constexpr double kLowestLr = 0.3;  // of the peak

// 0 of none.
double middle_of(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Of one loss: the median of |differences| is 0.6745 sigma times the root of two.
double noise_of(std::span<const double> losses) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < losses.size(); ++i)
    differences.push_back(std::abs(losses[i] - losses[i - 1]));
  return middle_of(std::move(differences)) / (0.6745 * std::numbers::sqrt2);
}

}  // namespace

std::string Stall::text() const {
  return fmt::format(
      "loss stall: the median training loss of the last {} steps is {:.4f}, and was {:.4f} two "
      "windows before; try another train.seed, a higher optimizer.lr, or a weaker decay.lambda",
      window, now, before);
}

std::int64_t StallWatch::window_of(std::int64_t steps) {
  return std::max(kShortestWindow, steps / 10);
}

std::optional<Stall> StallWatch::observe(std::int64_t step, std::int64_t phase, double loss,
                                         double lr) {
  if (options_.window <= 0) return std::nullopt;
  if (phase != phase_) losses_.clear();
  phase_ = phase;
  if (step <= options_.warmup_steps || !std::isfinite(loss)) return std::nullopt;
  const std::size_t kept = kWindowsCompared * static_cast<std::size_t>(options_.window);
  // Dropped a window at a time: a step costs no move of the others.
  if (losses_.size() >= kept + static_cast<std::size_t>(options_.window))
    losses_.erase(losses_.begin(), losses_.end() - static_cast<std::ptrdiff_t>(kept));
  losses_.push_back(loss);
  const bool may_judge = told_phase_ != phase && lr >= kLowestLr * options_.peak_lr;
  if (!may_judge || step % options_.window != 0 || losses_.size() < kept) return std::nullopt;
  const std::optional<Stall> stall = judge(step);
  if (stall) told_phase_ = phase;
  return stall;
}

std::optional<Stall> StallWatch::judge(std::int64_t step) const {
  const auto window = static_cast<std::size_t>(options_.window);
  const std::span<const double> all = std::span(losses_).last(kWindowsCompared * window);
  const auto early = all.first(window), late = all.last(window);
  const double before = middle_of({early.begin(), early.end()});
  const double now = middle_of({late.begin(), late.end()});
  // The error of a median is 1.2533 sigma over the root of the count; there are two of them.
  const double error =
      1.2533 * noise_of(late) * std::sqrt(2.0 / static_cast<double>(options_.window));
  if (before - now > kLeastErrors * error) return std::nullopt;
  return Stall{.step = step, .window = options_.window, .before = before, .now = now};
}

void StallWatch::replay(std::string_view metrics) {
  while (!metrics.empty()) {
    const std::size_t end = metrics.find('\n');
    const std::string_view line = metrics.substr(0, end);
    metrics.remove_prefix(end == metrics.npos ? metrics.size() : end + 1);
    // Most lines are steps; those of evaluations and health have no training loss.
    if (line.find("\"loss\":") == line.npos) continue;
    const JsonValue record = parse_json_value(line);
    const JsonValue *step = record.find("step"), *loss = record.find("loss"),
                    *lr = record.find("lr"), *phase = record.find("phase");
    if (step == nullptr || loss == nullptr || lr == nullptr || step->integer() == nullptr) continue;
    const std::int64_t in = phase != nullptr && phase->integer() ? *phase->integer() : 0;
    (void)observe(*step->integer(), in, loss->number().value_or(NAN), lr->number().value_or(0.0));
  }
}

}  // namespace twill
