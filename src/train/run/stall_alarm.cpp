// SPDX-License-Identifier: Apache-2.0
#include "train/run/stall_alarm.h"

#include <filesystem>
#include <system_error>

#include "base/require.h"
#include "io/atomic_file.h"
#include "train/run/run_folder.h"

namespace twill {

StallWatch stall_watch_of(const RunConfig& config, const std::string& metrics_file,
                          std::int64_t last_step) {
  const HealthSection& health = config.health;
  std::int64_t window = health.stall_window;
  if (window == 0) window = StallWatch::window_of(config.train.steps);
  if (health.on_stall == "off") window = 0;
  StallWatch watch({.window = window,
                    .warmup_steps = config.schedule.warmup_steps,
                    .peak_lr = config.optimizer.lr});
  std::error_code none;
  if (window > 0 && last_step > 0 && std::filesystem::is_regular_file(metrics_file, none))
    watch.replay(read_file(metrics_file));
  return watch;
}

MetricRecord stall_record(const Stall& stall) {
  MetricRecord record;
  record.add("step", stall.step)
      .add("alarm", "loss stall")
      .add("window", stall.window)
      .add("median_before", stall.before)
      .add("median_now", stall.now);
  return record;
}

void fail_stalled(const Stall& stall, const std::string& run) {
  fail(
      "step {}: {}; stopped (health.on_stall = \"stop\") and saved: go on with --resume {} "
      "health.on_stall=warn",
      stall.step, stall.text(), shell_quoted(run));
}

}  // namespace twill
